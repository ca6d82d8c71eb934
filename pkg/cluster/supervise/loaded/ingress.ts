/** What a process with an ingress controller needs besides: loaded when it starts. */
export { IngressController } from '#ingress/ingress-controller.js';
export { ingressOptionTable, ingressRules, ingressSettings } from '#ingress/options.js';

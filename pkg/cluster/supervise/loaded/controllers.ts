/** What a process with controllers needs besides: loaded when they start. */
export { ControllerManager } from '#controllers/manager.js';
export { controllerManagerOptions, controllerManagerRules } from '#controllers/options/options.js';
export { cloudOf } from '#controllers/setup/cloud.js';
export { rootCertificates, signingAuthorities } from '#controllers/setup/key-material.js';

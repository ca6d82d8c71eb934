/** Options of authorization and admission. */
import type { OptionTable } from '#daemon/options/option.js';

const section = 'Authorization';
const admission = 'Admission';

export const authorizationModes: readonly string[] = ['AlwaysAllow', 'AlwaysDeny', 'ABAC', 'Webhook', 'RBAC', 'Node'];

export const authorizationOptions = {
  'authorization-mode': {
    type: 'strings',
    default: ['AlwaysAllow'],
    choices: authorizationModes,
    section,
    meaning: 'Authorizers, in the order in which they decide.',
  },
  'authorization-policy-file': {
    type: 'string',
    section,
    meaning: 'File with the policies of the mode ABAC, one JSON object per line.',
  },
  'authorization-webhook-cache-authorized-ttl': {
    type: 'duration',
    default: 300_000,
    section,
    meaning: 'How long permissions of the webhook are cached; 0 for not at all.',
  },
  'authorization-webhook-cache-unauthorized-ttl': {
    type: 'duration',
    default: 30_000,
    section,
    meaning: 'How long refusals of the webhook are cached; 0 for not at all.',
  },
  'authorization-webhook-config-file': {
    type: 'string',
    section,
    meaning: 'Kubeconfig file with the address of the webhook of the mode Webhook.',
  },
  'authorization-webhook-version': {
    type: 'string',
    default: 'v1beta1',
    section,
    meaning: 'Version of the access reviews that the webhook gets and answers, v1 or v1beta1.',
  },
  'admission-control': {
    type: 'strings',
    deprecated: 'use --enable-admission-plugins or --disable-admission-plugins instead.',
    section: admission,
    meaning: 'All admission plugins to enable, the default ones included; the order does not matter.',
    protects: true,
  },
  'admission-control-config-file': {
    type: 'string',
    section: admission,
    meaning: 'Configuration file of admission plugins.',
  },
  'enable-admission-plugins': {
    type: 'strings',
    section: admission,
    meaning: 'Admission plugins to enable besides the default ones; the order does not matter.',
  },
  'disable-admission-plugins': {
    type: 'strings',
    section: admission,
    meaning: 'Admission plugins to disable although they are on by default.',
  },
} as const satisfies OptionTable;

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
    meaning: 'Authorizers in the order in which they are asked.',
  },
  'authorization-policy-file': { type: 'string', inert: true, section, meaning: 'Policies of the ABAC mode.' },
  'authorization-webhook-cache-authorized-ttl': {
    type: 'duration',
    default: 300_000,
    inert: true,
    section,
    meaning: 'How long permissions by the webhook are kept.',
  },
  'authorization-webhook-cache-unauthorized-ttl': {
    type: 'duration',
    default: 30_000,
    inert: true,
    section,
    meaning: 'How long refusals by the webhook are kept.',
  },
  'authorization-webhook-config-file': {
    type: 'string',
    inert: true,
    section,
    meaning: 'Client config of the Webhook mode.',
  },
  'authorization-webhook-version': {
    type: 'string',
    default: 'v1beta1',
    inert: true,
    section,
    meaning: 'Version of access reviews that are sent to the webhook.',
  },
  'admission-control': {
    type: 'strings',
    inert: true,
    deprecated: 'use --enable-admission-plugins or --disable-admission-plugins instead.',
    section: admission,
    meaning: 'All admission plugins in order.',
  },
  'admission-control-config-file': {
    type: 'string',
    section: admission,
    meaning: 'Config of admission plugins, of which ResourceQuota takes some.',
  },
  'enable-admission-plugins': {
    type: 'strings',
    section: admission,
    meaning: 'Admission plugins besides those that are on by default; the order does not matter.',
  },
  'disable-admission-plugins': {
    type: 'strings',
    section: admission,
    meaning: 'Admission plugins that are turned off, although they are on by default.',
  },
} as const satisfies OptionTable;

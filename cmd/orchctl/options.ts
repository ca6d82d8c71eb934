/** Options that several commands have. */
import type { OptionTable } from '#daemon/options/option.js';

export const globalOptions = {
  config: {
    type: 'string',
    section: 'Connection',
    meaning:
      'Client configuration file. Default: $ORCHCONFIG, else $KUBECONFIG, else ~/.orch/config, else ~/.kube/config.',
  },
  context: { type: 'string', section: 'Connection', meaning: 'Context of the configuration to use.' },
  server: { type: 'string', shorthand: 's', section: 'Connection', meaning: 'Address of the API server.' },
  namespace: { type: 'string', shorthand: 'n', section: 'Connection', meaning: 'Namespace to work in.' },
  'request-timeout': {
    type: 'duration',
    section: 'Connection',
    meaning: 'Give up on a single request after this long; 0 waits for ever.',
  },
} as const satisfies OptionTable;

export const selectorOptions = {
  selector: {
    type: 'string',
    shorthand: 'l',
    section: 'Selection',
    meaning: 'Label selector, such as `app=web,tier!=db`.',
  },
  'field-selector': {
    type: 'string',
    section: 'Selection',
    meaning: 'Field selector, such as `status.phase=Running`.',
  },
} as const satisfies OptionTable;

export const allNamespacesOption = {
  'all-namespaces': { type: 'bool', shorthand: 'A', section: 'Selection', meaning: 'Look in every namespace.' },
} as const satisfies OptionTable;

export const outputOption = {
  output: {
    type: 'string',
    shorthand: 'o',
    section: 'Output',
    oneOf: ['wide', 'json', 'yaml', 'name'],
    meaning: 'Form of the output.',
  },
} as const satisfies OptionTable;

export const filenameOption = {
  filename: {
    type: 'strings',
    shorthand: 'f',
    section: 'Selection',
    meaning: 'File or folder with objects in YAML or JSON; - for standard input.',
  },
} as const satisfies OptionTable;

/** Options that several commands have. */
import type { OptionTable } from '#daemon/options/option.js';

export const globalOptions = {
  config: {
    type: 'string',
    section: 'Connection',
    meaning:
      'Client configuration file. Default: the files of $ORCHCONFIG, else of $KUBECONFIG, as one; else ~/.orch/config, else ~/.kube/config.',
  },
  context: { type: 'string', section: 'Connection', meaning: 'Context of the configuration to use.' },
  cluster: { type: 'string', section: 'Connection', meaning: 'Cluster of the configuration to use.' },
  user: { type: 'string', section: 'Connection', meaning: 'User of the configuration to be.' },
  token: { type: 'string', section: 'Connection', meaning: 'Bearer token to show.' },
  username: { type: 'string', section: 'Connection', meaning: 'User name for basic authentication.' },
  password: { type: 'string', section: 'Connection', meaning: 'Password for basic authentication.' },
  'client-certificate': { type: 'string', section: 'Connection', meaning: 'File of the certificate to show.' },
  'client-key': { type: 'string', section: 'Connection', meaning: 'File of the key of that certificate.' },
  'certificate-authority': { type: 'string', section: 'Connection', meaning: 'File of the authorities to trust.' },
  'tls-server-name': { type: 'string', section: 'Connection', meaning: "Name to expect in the server's certificate." },
  'insecure-skip-tls-verify': {
    type: 'bool',
    section: 'Connection',
    meaning: "Do not look at the server's certificate: anybody may pretend to be the server.",
  },
  as: { type: 'string', section: 'Connection', meaning: 'User to act as.' },
  'as-group': { type: 'strings', section: 'Connection', meaning: 'Group to act as a member of; may be repeated.' },
  'as-uid': { type: 'string', section: 'Connection', meaning: 'UID to act with.' },
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

/** Options that several commands share. */
import type { OptionTable } from '#daemon/options/option.js';

export const globalOptions = {
  config: {
    type: 'string',
    aliases: ['kubeconfig'],
    section: 'Connection',
    meaning:
      'Client configuration file. Default: the merged files of $ORCHCONFIG, else of $KUBECONFIG; else ~/.orch/config, else ~/.kube/config.',
  },
  context: { type: 'string', section: 'Connection', meaning: 'Context of the configuration to use.' },
  cluster: { type: 'string', section: 'Connection', meaning: 'Cluster of the configuration to use.' },
  user: { type: 'string', section: 'Connection', meaning: 'User of the configuration to use.' },
  token: { type: 'string', section: 'Connection', meaning: 'Bearer token for authentication.' },
  username: { type: 'string', section: 'Connection', meaning: 'User name for basic authentication.' },
  password: { type: 'string', section: 'Connection', meaning: 'Password for basic authentication.' },
  'client-certificate': { type: 'string', section: 'Connection', meaning: 'File of the client certificate.' },
  'client-key': { type: 'string', section: 'Connection', meaning: "File of the client certificate's key." },
  'certificate-authority': {
    type: 'string',
    section: 'Connection',
    meaning: 'File of the trusted certificate authorities.',
  },
  'tls-server-name': { type: 'string', section: 'Connection', meaning: "Expected name in the server's certificate." },
  'insecure-skip-tls-verify': {
    type: 'bool',
    section: 'Connection',
    meaning: "Do not verify the server's certificate, so that any program can pose as the server.",
  },
  as: { type: 'string', section: 'Connection', meaning: 'User to impersonate.' },
  'as-group': { type: 'strings', section: 'Connection', meaning: 'Group to impersonate; may be repeated.' },
  'as-uid': { type: 'string', section: 'Connection', meaning: 'UID to impersonate.' },
  server: { type: 'string', shorthand: 's', section: 'Connection', meaning: 'Address of the API server.' },
  namespace: { type: 'string', shorthand: 'n', section: 'Connection', meaning: 'Namespace to work in.' },
  'request-timeout': {
    type: 'duration',
    section: 'Connection',
    meaning: 'Time limit of a single request; 0: no limit.',
  },
} as const satisfies OptionTable;

export const labelSelectorOption = {
  selector: {
    type: 'string',
    shorthand: 'l',
    section: 'Selection',
    meaning: 'Label selector, such as `app=web,tier!=db`.',
  },
} as const satisfies OptionTable;

export const selectorOptions = {
  ...labelSelectorOption,
  'field-selector': {
    type: 'string',
    section: 'Selection',
    meaning: 'Field selector, such as `status.phase=Running`.',
  },
} as const satisfies OptionTable;

export const allNamespacesOption = {
  'all-namespaces': {
    type: 'bool',
    shorthand: 'A',
    section: 'Selection',
    meaning: 'Select objects in all namespaces.',
  },
} as const satisfies OptionTable;

export const filenameOptions = {
  filename: {
    type: 'strings',
    shorthand: 'f',
    section: 'Selection',
    meaning: 'File, folder or URL with objects in YAML or JSON; -: standard input.',
  },
  kustomize: {
    type: 'string',
    shorthand: 'k',
    section: 'Selection',
    meaning: 'Folder of a kustomization, or its address in a repository, instead of --filename.',
  },
  recursive: { type: 'bool', shorthand: 'R', section: 'Selection', meaning: 'Also read the folders in folders.' },
} as const satisfies OptionTable;

export const allOption = {
  all: { type: 'bool', section: 'Selection', meaning: 'All objects of the types in the namespace.' },
} as const satisfies OptionTable;

/** Options of commands that take objects of any number from files, by names or by selectors. */
export const objectsOptions = {
  ...filenameOptions,
  ...selectorOptions,
  ...allNamespacesOption,
  ...allOption,
} as const satisfies OptionTable;

export const chunkOption = {
  'chunk-size': {
    type: 'int',
    default: 500,
    min: 0,
    section: 'Selection',
    meaning: 'Objects of one page of a large list; 0: all at once.',
  },
} as const satisfies OptionTable;

export const dryRunOption = {
  'dry-run': {
    type: 'string',
    default: 'none',
    alone: 'unchanged',
    section: 'Writing',
    meaning: 'client: only print what would be sent; server: run the request without storing the result; none.',
  },
} as const satisfies OptionTable;

/** @param manager The field manager of the command. */
export function managerOption(manager: string) {
  return {
    'field-manager': {
      type: 'string',
      default: manager,
      section: 'Writing',
      meaning: 'Name of the manager of the fields that are written.',
    },
  } as const satisfies OptionTable;
}

/** @param port The default. */
export function portOption(port: number, meaning: string) {
  return {
    port: { type: 'int', shorthand: 'p', default: port, min: 0, section: 'Listening', meaning },
  } as const satisfies OptionTable;
}

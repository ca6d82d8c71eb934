/** Options of tokens and certificates that the manager issues. */
import type { OptionTable, OptionValues } from '#daemon/options/option.js';
import type { Rule } from '#daemon/options/validate.js';

const section = 'Certificates and tokens';

function file(meaning: string) {
  return { type: 'string', section, meaning } as const;
}

export const signingOptions = {
  'use-service-account-credentials': {
    type: 'bool',
    section,
    meaning: 'Each controller acts as a service account of its own.',
  },
  'service-account-private-key-file': file('PEM key, RSA or ECDSA, that signs service account tokens.'),
  'root-ca-file': {
    type: 'string',
    section,
    meaning: 'PEM bundle that verifies the API server; given to service accounts and published in each namespace.',
  },
  'cluster-signing-cert-file': file('PEM certificate of the authority that issues certificates for the cluster.'),
  'cluster-signing-key-file': file('PEM key, RSA or ECDSA, of the authority that issues certificates for the cluster.'),
  'cluster-signing-duration': {
    aliases: ['experimental-cluster-signing-duration'],
    type: 'duration',
    min: 0,
    default: 31_536_000_000,
    section,
    meaning: 'Longest lifetime of issued certificates; a request may ask for less.',
  },
  'cluster-signing-orch-apiserver-client-cert-file': file('Authority for certificates of clients of the API server.'),
  'cluster-signing-orch-apiserver-client-key-file': file('Key of the authority for clients of the API server.'),
  'cluster-signing-nodeagent-client-cert-file': file('Authority for client certificates of node agents.'),
  'cluster-signing-nodeagent-client-key-file': file('Key of the authority for client certificates of node agents.'),
  'cluster-signing-nodeagent-serving-cert-file': file('Authority for serving certificates of node agents.'),
  'cluster-signing-nodeagent-serving-key-file': file('Key of the authority for serving certificates of node agents.'),
  'cluster-signing-legacy-unknown-cert-file': file('Authority for requests of the legacy-unknown signer.'),
  'cluster-signing-legacy-unknown-key-file': file('Key of the authority for the legacy-unknown signer.'),
} as const satisfies OptionTable;

const specific = Object.keys(signingOptions).filter((name) => /^cluster-signing-.+-.+-(cert|key)-file$/.test(name));

/** The general authority excludes those of single signers; each authority needs certificate and key. */
export const signingRules: Rule<OptionValues<typeof signingOptions>> = (_values, given) => {
  const messages: string[] = [];
  const general = ['cluster-signing-cert-file', 'cluster-signing-key-file'].filter((name) => given.has(name));
  const [first] = general;
  if (first !== undefined) {
    for (const name of specific.filter((each) => given.has(each))) {
      messages.push(`--${name} must not be combined with --${first}`);
    }
  }
  for (const name of Object.keys(signingOptions).filter((each) => each.endsWith('-cert-file'))) {
    const key = name.replace(/-cert-file$/, '-key-file');
    if (given.has(name) !== given.has(key)) messages.push(`--${name} and --${key} must be given together`);
  }
  return messages;
};

/** Options for issuing tokens and certificates. */
import { dialectByName } from '#apimachinery/dialect.js';
import { quoted } from '#apimachinery/errors/message-values.js';
import { productOption } from '#daemon/options/dialect-names.js';
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
    meaning: 'Run each controller with the credentials of its own service account.',
  },
  'service-account-private-key-file': file('PEM key (RSA or ECDSA) that signs service account tokens.'),
  'root-ca-file': {
    type: 'string',
    section,
    meaning: 'PEM bundle that verifies the API server; added to token secrets and published in each namespace.',
  },
  'cluster-signing-cert-file': file('PEM certificate of the authority that issues certificates for the cluster.'),
  'cluster-signing-key-file': file('PEM key (RSA or ECDSA) of the authority that issues certificates for the cluster.'),
  'cluster-signing-duration': {
    aliases: ['experimental-cluster-signing-duration'],
    type: 'duration',
    min: 0,
    default: 31_536_000_000,
    section,
    meaning: 'Maximum lifetime of issued certificates; requests may specify less.',
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

/** Signers with their own authority, and their names in 1.24's messages. */
const signers = [
  ['nodeagent-serving', 'nodeagent-serving'],
  ['nodeagent-client', 'orch-apiserver-client'],
  ['orch-apiserver-client', 'orch-apiserver'],
  ['legacy-unknown', 'legacy-unknown'],
] as const;

/** The general authority excludes authorities of single signers; each authority needs certificate and key. */
export const signingRules: Rule<OptionValues<typeof signingOptions> & { readonly dialect: string }> = (values) => {
  const dialect = dialectByName(values.dialect);
  const isSet = (name: keyof typeof signingOptions) => (values[name] ?? '') !== '';
  const messages: string[] = [];
  let isSpecific = false;
  for (const [signer, words] of signers) {
    const [hasCert, hasKey] = [
      isSet(`cluster-signing-${signer}-cert-file`),
      isSet(`cluster-signing-${signer}-key-file`),
    ];
    isSpecific ||= hasCert || hasKey;
    if (hasCert === hasKey) continue;
    const why = hasCert ? 'cannot specify cert without key' : 'cannot specify key without cert';
    messages.push(`${quoted(productOption(dialect, `cluster-signing-${words}`))}: ${why}`);
  }
  const [hasCert, hasKey] = [isSet('cluster-signing-cert-file'), isSet('cluster-signing-key-file')];
  if ((hasCert || hasKey) && isSpecific) {
    messages.push(
      'cannot specify --cluster-signing-{cert,key}-file and other --cluster-signing-*-file flags at the same time',
    );
  }
  // 1.24 starts with half a pair and signs nothing.
  if (hasCert !== hasKey) {
    messages.push('--cluster-signing-cert-file and --cluster-signing-key-file must be given together');
  }
  return messages;
};

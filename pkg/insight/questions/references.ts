/** ConfigMaps and Secrets that a pod refers to. */
import { configmaps, secrets } from '#api/core/v1/resources.gen.js';
import type { Evidence, Finding, Subject } from '#insight/inquiry/finding.js';
import type { Inquiry } from '#insight/inquiry/inquiry.js';
import { finding, namespaceFlag, specEvidence } from '#insight/questions/parts.js';

export interface Reference {
  readonly type: typeof configmaps | typeof secrets;
  readonly name: string;
  readonly namespace: string;
  /** Keys that must be there. */
  readonly keys: readonly string[];
  /** The field that refers to it. */
  readonly at: string;
}

/** A ConfigMap or Secret that does not exist, or lacks a key. */
export async function missingReference(
  inquiry: Inquiry,
  subject: Subject,
  { type, name, namespace, keys, at }: Reference,
): Promise<Finding | undefined> {
  const { kind } = type;
  const of = await (type === secrets
    ? inquiry.get(secrets, name, namespace)
    : inquiry.get(configmaps, name, namespace));
  if (of.state === 'unreadable') return undefined;
  const evidence: Evidence[] = [specEvidence(at, name)];
  if (of.state === 'absent')
    return finding({
      ...{ subject, evidence },
      reason: `${kind}Missing`,
      summary: `${kind} ${name} does not exist.`,
      remedies: [
        {
          action: `Create the ${kind}, or mark the reference as optional.`,
          command: `create ${kind === 'Secret' ? 'secret generic' : 'configmap'} ${name}${namespaceFlag(subject)}`,
        },
      ],
    });
  const object = of.object as { readonly data?: object; readonly binaryData?: object };
  const present = new Set([...Object.keys(object.data ?? {}), ...Object.keys(object.binaryData ?? {})]);
  const lacking = keys.filter((key) => !present.has(key));
  if (lacking.length === 0) return undefined;
  return finding({
    subject,
    evidence: [
      ...evidence,
      { source: 'spec', of: { kind, namespace, name }, at: 'keys', text: [...present].sort().join(', ') },
    ],
    reason: `${kind}KeyMissing`,
    summary: `${kind} ${name} has no key ${lacking.join(', ')}.`,
    remedies: [{ action: `Add the key to the ${kind}, or refer to one that exists.` }],
  });
}

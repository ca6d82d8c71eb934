/** Answers to "why?": a chain of causes, each with its evidence and its remedies. */

/** Names an object. `namespace` is absent for objects outside of namespaces. */
export interface Subject {
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

/** Where a statement comes from. */
export type EvidenceSource = 'status' | 'spec' | 'event' | 'log' | 'metadata';

export interface Evidence {
  readonly source: EvidenceSource;
  /** Of the object that holds it, if it is not the subject. */
  readonly of?: Subject;
  /** The field, the event's reason or the container's name. */
  readonly at: string;
  /** Quoted from the cluster, bounded by `maxQuote`. */
  readonly text: string;
}

export interface Remedy {
  /** What to do, as a sentence. */
  readonly action: string;
  /** A command of the client that does it, without the program's name; names in capitals are for the reader to fill in. */
  readonly command?: string;
  /** Objects that do it, for the reader to apply. */
  readonly manifests?: readonly object[];
}

export interface Finding {
  readonly subject: Subject;
  /** Stable, in CamelCase, for programs. */
  readonly reason: string;
  /** One sentence. */
  readonly summary: string;
  readonly evidence: readonly Evidence[];
  readonly remedies: readonly Remedy[];
  /** What brought this about; empty for a root cause. */
  readonly causes: readonly Finding[];
}

export type Verdict =
  /** Nothing is wrong. */
  | 'Healthy'
  /** It is on its way, and nothing stands in it. */
  | 'Progressing'
  /** Something is wrong; `findings` says what. */
  | 'Stuck';

export interface Answer {
  readonly subject: Subject;
  readonly verdict: Verdict;
  /** One sentence. */
  readonly summary: string;
  /** The most direct cause first. */
  readonly findings: readonly Finding[];
  /** Resources that the caller may not read, so that causes may be missing. */
  readonly unreadable: readonly string[];
}

/** Longest quotation in characters. */
const maxQuote = 1000;

/** Text from the cluster on few lines and of bounded length. */
export function quote(text: string): string {
  const trimmed = text.trim();
  return trimmed.length <= maxQuote ? trimmed : `${trimmed.slice(0, maxQuote)}…`;
}

/** The causes at the ends of all chains, each once. */
export function rootCauses(findings: readonly Finding[]): Finding[] {
  const roots = new Map<string, Finding>();
  const visit = (finding: Finding) => {
    if (finding.causes.length > 0) for (const cause of finding.causes) visit(cause);
    else roots.set(`${finding.reason} ${subjectText(finding.subject)} ${finding.summary}`, finding);
  };
  for (const finding of findings) visit(finding);
  return [...roots.values()];
}

export function subjectText({ kind, namespace, name }: Subject): string {
  return namespace === undefined ? `${kind} ${name}` : `${kind} ${namespace}/${name}`;
}

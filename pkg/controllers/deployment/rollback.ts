/** Rolls back to the revision in the deployment's annotation, which clients of extensions/v1beta1 set. Pure. */
import type { Deployment, ReplicaSet } from '#api/apps/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { parseInt64 } from '#apimachinery/int64.js';
import { isPrivate, revisionOf } from '#controllers/deployment/revisions.js';
import { sameTemplate } from '#controllers/deployment/template-hash.js';

export interface Rollback {
  /** The deployment to write, without the annotation and with the template of the revision, if it exists. */
  readonly deployment: Deployment;
  readonly event: { readonly type: 'Normal' | 'Warning'; readonly reason: string; readonly message: string };
}

/** Undefined without the annotation. `replicaSets`: the deployment's sets. */
export function planRollback(
  dialect: Dialect,
  deployment: Deployment,
  replicaSets: readonly ReplicaSet[],
): Rollback | undefined {
  const { [dialect.annotations.rollbackTo]: text = '', ...annotations } = deployment.metadata.annotations ?? {};
  const requested = text === '' ? undefined : parseInt64(text);
  if (requested === undefined) return undefined;
  const cleared = { ...deployment, metadata: { ...deployment.metadata, annotations } };
  const refusal = (reason: string, message: string): Rollback => ({
    deployment: cleared,
    event: { type: 'Warning', reason, message },
  });
  const revision = requested === 0n ? revisionBefore(dialect, replicaSets) : requested;
  if (revision === 0n) return refusal('DeploymentRollbackRevisionNotFound', 'Unable to find last revision.');
  const set = replicaSets.find((each) => revisionOf(dialect, each) === revision);
  if (set === undefined) {
    return refusal('DeploymentRollbackRevisionNotFound', 'Unable to find the revision to rollback to.');
  }
  const name = JSON.stringify(deployment.metadata.name ?? '');
  const template = set.spec.template ?? {};
  if (sameTemplate(dialect, template, deployment.spec.template)) {
    const message = `The rollback revision contains the same template as current deployment ${name}`;
    return refusal('DeploymentRollbackTemplateUnchanged', message);
  }
  const { [dialect.labels.podTemplateHash]: _hash, ...labels } = template.metadata?.labels ?? {};
  const metadata = { ...cleared.metadata, annotations: rolledBackAnnotations(dialect, annotations, set) };
  const spec = { ...deployment.spec, template: { ...template, metadata: { ...template.metadata, labels } } };
  const message = `Rolled back deployment ${name} to revision ${revision}`;
  return {
    deployment: { ...cleared, metadata, spec },
    event: { type: 'Normal', reason: 'DeploymentRollback', message },
  };
}

/** The second highest revision; zero if there is none. */
function revisionBefore(dialect: Dialect, replicaSets: readonly ReplicaSet[]): bigint {
  let last = 0n;
  let before = 0n;
  for (const set of replicaSets) {
    const revision = revisionOf(dialect, set);
    if (revision === undefined) continue;
    if (revision >= last) [before, last] = [last, revision];
    else if (revision > before) before = revision;
  }
  return before;
}

/** The set's annotations, such as its change cause, and the deployment's private annotations. */
function rolledBackAnnotations(
  dialect: Dialect,
  annotations: Readonly<Record<string, string>>,
  set: ReplicaSet,
): Record<string, string> {
  const own = Object.entries(annotations).filter(([name]) => isPrivate(dialect, name));
  const others = Object.entries(set.metadata.annotations ?? {}).filter(([name]) => !isPrivate(dialect, name));
  return Object.fromEntries([...own, ...others]);
}

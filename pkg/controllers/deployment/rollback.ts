/** Goes back to an earlier template where the deployment's annotation asks for it, as clients of extensions/v1beta1 do. Pure. */
import type { Deployment, ReplicaSet } from '#api/apps/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { parseInt64 } from '#apimachinery/int64.js';
import { isPrivate, revisionOf } from '#controllers/deployment/revisions.js';
import { sameTemplate } from '#controllers/deployment/template-hash.js';

export interface Rollback {
  /** To be written: without the annotation, and with the template of the revision where there is one. */
  readonly deployment: Deployment;
  readonly event: { readonly type: 'Normal' | 'Warning'; readonly reason: string; readonly message: string };
}

/** Undefined where nothing asks for it. `replicaSets`: the deployment's own. */
export function planRollback(
  dialect: Dialect,
  deployment: Deployment,
  replicaSets: readonly ReplicaSet[],
): Rollback | undefined {
  const { [dialect.annotations.rollbackTo]: text = '', ...annotations } = deployment.metadata.annotations ?? {};
  const asked = text === '' ? undefined : parseInt64(text);
  if (asked === undefined) return undefined;
  const cleared = { ...deployment, metadata: { ...deployment.metadata, annotations } };
  const refusal = (reason: string, message: string): Rollback => ({
    deployment: cleared,
    event: { type: 'Warning', reason, message },
  });
  const revision = asked === 0n ? revisionBefore(dialect, replicaSets) : asked;
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
  const metadata = { ...cleared.metadata, annotations: annotationsBehind(dialect, annotations, set) };
  const spec = { ...deployment.spec, template: { ...template, metadata: { ...template.metadata, labels } } };
  const message = `Rolled back deployment ${name} to revision ${revision}`;
  return {
    deployment: { ...cleared, metadata, spec },
    event: { type: 'Normal', reason: 'DeploymentRollback', message },
  };
}

/** The last revision but one; zero where there is none. */
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

/** Those of the set, so that the reason of the old revision comes back with it, and the deployment's own business. */
function annotationsBehind(
  dialect: Dialect,
  annotations: Readonly<Record<string, string>>,
  set: ReplicaSet,
): Record<string, string> {
  const own = Object.entries(annotations).filter(([name]) => isPrivate(dialect, name));
  const others = Object.entries(set.metadata.annotations ?? {}).filter(([name]) => !isPrivate(dialect, name));
  return Object.fromEntries([...own, ...others]);
}

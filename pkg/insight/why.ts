/** Answers why an object of any kind is stuck, refused or slow. */
import {
  mutatingwebhookconfigurations,
  validatingwebhookconfigurations,
} from '#api/admissionregistration/v1/resources.gen.js';
import { customresourcedefinitions } from '#api/apiextensions/v1/resources.gen.js';
import { apiservices } from '#api/apiregistration/v1/resources.gen.js';
import { daemonsets, deployments, replicasets, statefulsets } from '#api/apps/v1/resources.gen.js';
import { horizontalpodautoscalers } from '#api/autoscaling/v2/resources.gen.js';
import { cronjobs, jobs } from '#api/batch/v1/resources.gen.js';
import { certificatesigningrequests } from '#api/certificates/v1/resources.gen.js';
import { leases } from '#api/coordination/v1/resources.gen.js';
import { namespaces, nodes, persistentvolumeclaims, pods, secrets, services } from '#api/core/v1/resources.gen.js';
import { ingresses } from '#api/networking/v1/resources.gen.js';
import { poddisruptionbudgets } from '#api/policy/v1/resources.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import { type Answer, type Finding, rootCauses } from '#insight/inquiry/finding.js';
import { Inquiry, type Question } from '#insight/inquiry/inquiry.js';
import type { Observations, StoredObject } from '#insight/inquiry/observations.js';
import { isInMotion } from '#insight/progress.js';
import { whyAutoscaler } from '#insight/questions/autoscaler.js';
import { whyBudget } from '#insight/questions/budget.js';
import { whyClaim } from '#insight/questions/claim.js';
import { whyDaemonSet } from '#insight/questions/daemon-set.js';
import { whyNodeAndDrain } from '#insight/questions/drain.js';
import { whyApiService, whyDefinition, whyWebhooks } from '#insight/questions/extensions.js';
import { whyIngress } from '#insight/questions/ingress.js';
import { whyCronJob, whyJob } from '#insight/questions/jobs.js';
import { whyLease } from '#insight/questions/lease.js';
import { whyNamespace } from '#insight/questions/namespace.js';
import { subjectOf } from '#insight/questions/parts.js';
import { whyPod } from '#insight/questions/pod.js';
import { whySecret } from '#insight/questions/secret.js';
import { whyService } from '#insight/questions/service.js';
import { whySigningRequest } from '#insight/questions/signing-request.js';
import { whyStatefulSet } from '#insight/questions/stateful-set.js';
import { whyTerminating } from '#insight/questions/termination.js';
import { whyDeployment, whyReplicaSet } from '#insight/questions/workloads.js';

interface Explained {
  readonly type: ResourceType<StoredObject>;
  ask(inquiry: Inquiry, object: StoredObject): Promise<readonly Finding[]>;
}

/** Objects of a resource have its type. */
function explained<T extends StoredObject>(type: ResourceType<T>, question: Question<T>): Explained {
  return { type, ask: (inquiry, object) => question(inquiry, object as T) };
}

const explainedKinds: readonly Explained[] = [
  explained(pods, whyPod),
  explained(nodes, whyNodeAndDrain),
  explained(namespaces, whyNamespace),
  explained(persistentvolumeclaims, whyClaim),
  explained(services, whyService),
  explained(deployments, whyDeployment),
  explained(replicasets, whyReplicaSet),
  explained(statefulsets, whyStatefulSet),
  explained(daemonsets, whyDaemonSet),
  explained(jobs, whyJob),
  explained(cronjobs, whyCronJob),
  explained(ingresses, whyIngress),
  explained(horizontalpodautoscalers, whyAutoscaler),
  explained(poddisruptionbudgets, whyBudget),
  explained(customresourcedefinitions, whyDefinition),
  explained(apiservices, whyApiService),
  explained(mutatingwebhookconfigurations, whyWebhooks),
  explained(validatingwebhookconfigurations, whyWebhooks),
  explained(certificatesigningrequests, whySigningRequest),
  explained(leases, whyLease),
  explained(secrets, whySecret),
];

const byKind = new Map(explainedKinds.map((each) => [each.type.kind, each]));

/** The resource, in the version that the question about objects of this kind expects; undefined without such a question. */
export function readTypeOf(kind: string): ResourceType<StoredObject> | undefined {
  return byKind.get(kind)?.type;
}

/** The object of that kind must have been read in the version that its question expects. */
export async function why(
  dialect: Dialect,
  observations: Observations,
  kind: string,
  object: StoredObject,
): Promise<Answer> {
  const inquiry = new Inquiry(dialect, observations);
  const subject = subjectOf(kind, object);
  const ask = byKind.get(kind)?.ask;
  const findings =
    ask === undefined
      ? whyTerminating(inquiry, object, kind)
      : await inquiry.causes(subject, (each, of: StoredObject) => ask(each, of), object);
  const answer = { subject, findings, unreadable: inquiry.unreadable };
  if (findings.length > 0) {
    const roots = rootCauses(findings);
    const summary = roots[0]?.summary ?? '';
    return { ...answer, verdict: 'Stuck', summary };
  }
  if (isInMotion(kind, object)) {
    return { ...answer, verdict: 'Progressing', summary: 'It is on its way, and nothing stands in it.' };
  }
  return { ...answer, verdict: 'Healthy', summary: 'Nothing is wrong with it.' };
}

/** `pods/…/eviction`: a delete that disruption budgets may refuse. */

import type { Pod } from '#api/core/v1/types.gen.js';
import type { ApiObjectShape } from '#api/object.js';
import type { PodDisruptionBudget } from '#api/policy/v1/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';
import { copyJson } from '#apimachinery/copy.js';
import { badRequest, internalError, StatusError, tooManyRequests } from '#apimachinery/errors/status.js';
import { compileSelector } from '#apimachinery/selectors/labels.js';
import type { RequestContext } from '#apiserver/http/context.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import { mutatingAdmission, validatingAdmission } from '#apiserver/registry/admit.js';
import { bodyEncoding } from '#apiserver/registry/body.js';
import { requireNamespace } from '#apiserver/registry/create.js';
import { remove } from '#apiserver/registry/delete.js';
import type { DeleteOptions } from '#apiserver/registry/delete-options.js';
import { readEntry } from '#apiserver/registry/get.js';
import { mutate } from '#apiserver/registry/mutate.js';
import { statusProfile } from '#apiserver/registry/profiles.js';
import type { RegistryContext } from '#apiserver/registry/registry-context.js';
import { invalidOptions } from '#apiserver/registry/request-errors.js';
import { subresourceType } from '#apiserver/registry/subresource-type.js';
import { dryRunFailures, writeOptions } from '#apiserver/registry/write-options.js';
import { objectOf, type ServedResource } from '#apiserver/resources/served-resource.js';

interface Eviction extends ApiObjectShape {
  deleteOptions?: Omit<DeleteOptions, 'dryRun'> & { dryRun?: readonly string[] };
}

/** Most disrupted pods that a budget's status remembers: 1.24's bound against writers that outrun its controller. */
const maxDisruptedPods = 2000;

/** Throws 429 when a budget allows no disruption now. */
export async function evictPod(
  registry: RegistryContext,
  context: RequestContext,
  resource: ServedResource,
): Promise<ApiResponse> {
  const { info } = context;
  const options = writeOptions(registry.dialect, context, 'CreateOptions');
  const encoding = bodyEncoding(registry, context);
  const type = subresourceType(registry, resource, 'eviction');
  const older = { ...type, apiVersion: registry.dialect.apiVersion('policy', 'v1beta1') };
  const eviction = registry.codec.decodeOneOf(context.request.body, encoding, [type, older], 'Ignore')
    .object as Eviction;
  eviction.metadata ??= {};
  requireNamespace(resource, eviction, info.namespace);
  if (eviction.metadata.name !== info.name) throw badRequest('name in URL does not match name in Eviction object');
  const { dryRun: asked = [], ...given } = eviction.deleteOptions ?? {};
  const failures = dryRunFailures(asked);
  if (failures.length > 0) throw invalidOptions(registry.dialect, 'DeleteOptions', failures);
  const dryRun = options.dryRun || asked.includes('All');
  const { namespace, name } = info;
  const call = { operation: 'CREATE', subresource: 'eviction', namespace, name, dryRun, object: eviction } as const;
  // Before a budget pays for it.
  await mutatingAdmission(registry, context, resource, call);
  await validatingAdmission(registry, context, resource, call);
  const pod = objectOf(resource, await readEntry(resource, info, { kind: 'latest' }, context.signal)) as unknown as Pod;
  if (needsBudget(pod)) await useBudget(registry, context, { pod, dryRun });
  await remove(registry, context, resource, { name: info, options: { ...given, dryRun } });
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 };
  return registry.responder.object(context, status, 201);
}

/** Pods that do no work (yet, or any more) are not protected. */
function needsBudget(pod: Pod): boolean {
  const phase = pod.status?.phase;
  return phase !== 'Succeeded' && phase !== 'Failed' && phase !== 'Pending' && !pod.metadata?.deletionTimestamp;
}

async function useBudget(
  registry: RegistryContext,
  context: RequestContext,
  { pod, dryRun }: { pod: Pod; dryRun: boolean },
): Promise<void> {
  const [budgets] = ['v1', 'v1beta1'].flatMap(
    (version) => registry.resources.find('policy', version, 'poddisruptionbudgets') ?? [],
  );
  if (budgets === undefined) return;
  const namespace = pod.metadata?.namespace ?? '';
  const { entries } = await budgets.storage.list({
    scope: `${namespace}/`,
    version: { kind: 'latest' },
    signal: context.signal,
  });
  const matching = entries
    // As they are stored: selectors mean other things in other versions.
    .map((entry) => entry.object() as PodDisruptionBudget)
    // A selector that makes no sense protects no pod.
    .filter((budget) => compileSelector(budget.spec?.selector)?.matches(pod.metadata?.labels) === true);
  if (matching.length > 1) {
    throw internalError(
      new Error('This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.'),
    );
  }
  const name = matching[0]?.metadata?.name;
  if (name === undefined) return;
  await mutate(registry, context, budgets, {
    namespace,
    name,
    options: { dryRun, fieldManager: 'eviction', fieldValidation: 'Ignore' },
    profile: statusProfile(budgets),
    trackFields: false,
    change: (current) => disrupted(registry, current, pod),
  });
}

/** The budget with one disruption less. */
function disrupted(registry: RegistryContext, current: ApiObjectShape, pod: Pod): ApiObjectShape {
  const budget = copyJson(current) as unknown as PodDisruptionBudget;
  const name = budget.metadata?.name ?? '';
  const { status } = budget;
  if (status === undefined || (status.observedGeneration ?? 0) < (budget.metadata?.generation ?? 0)) {
    throw refused(`The disruption budget ${name} is still being processed by the server.`, name, 10);
  }
  const disruptedPods = status.disruptedPods ?? {};
  if (Object.keys(disruptedPods).length > maxDisruptedPods) {
    throw refused('DisruptedPods map too big - too many evictions not confirmed by PDB controller', name, 0);
  }
  if (status.disruptionsAllowed <= 0) {
    const detail = `The disruption budget ${name} needs ${status.desiredHealthy} healthy pods and has ${status.currentHealthy} currently`;
    throw refused(detail, name, 0);
  }
  status.disruptionsAllowed -= 1;
  status.disruptedPods = { ...disruptedPods, [pod.metadata?.name ?? '']: formatTime(registry.clock.now()) };
  return budget as unknown as ApiObjectShape;
}

/** 429 with the budget's own reason as its cause, as clients that drain nodes expect it. */
function refused(detail: string, name: string, retryAfterSeconds: number): StatusError {
  const error = tooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", retryAfterSeconds);
  const causes = [{ reason: 'DisruptionBudget', message: detail }];
  return new StatusError({
    ...error.status,
    details: { name, causes, ...(retryAfterSeconds > 0 ? { retryAfterSeconds } : {}) },
  });
}

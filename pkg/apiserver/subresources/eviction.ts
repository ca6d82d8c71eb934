/** `pods/…/eviction`: a delete that disruption budgets may refuse. */

import type { Pod } from '#api/core/v1/types.gen.js';
import type { ApiObjectShape } from '#api/meta/object.js';
import { costsNothing, disrupted, isBudgeted, isOver } from '#api/policy/v1/poddisruptionbudget/disruption.js';
import type { PodDisruptionBudget } from '#api/policy/v1/types.gen.js';
import type { Draft } from '#apimachinery/draft.js';
import { badRequest, internalError, isConflict } from '#apimachinery/errors/status.js';
import { compileSelector } from '#apimachinery/selectors/labels.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import { warn } from '#apiserver/http/request-context.js';
import { runAdmission } from '#apiserver/registry/admit.js';
import { requireNamespace } from '#apiserver/registry/create.js';
import { remove } from '#apiserver/registry/delete.js';
import { type DeleteOptions, requireValid } from '#apiserver/registry/delete-options.js';
import { readEntry } from '#apiserver/registry/get.js';
import { mutate } from '#apiserver/registry/mutate.js';
import type { Operation } from '#apiserver/registry/operation.js';
import { statusProfile } from '#apiserver/registry/update-profiles.js';
import { bodyEncoding, writeOptions } from '#apiserver/registry/write-request.js';
import { objectOf, subresourceType } from '#apiserver/resources/served-resource.js';

interface Eviction extends ApiObjectShape {
  deleteOptions?: Omit<DeleteOptions, 'dryRun'> & { dryRun?: readonly string[] };
}

/** Throws 429 if a budget allows no disruption now. */
export async function evictPod(operation: Operation): Promise<ApiResponse> {
  const { registry, context, resource } = operation;
  const { info } = context;
  const options = writeOptions(registry, context, 'CreateOptions');
  const encoding = bodyEncoding(registry, context);
  const type = subresourceType(registry, resource, 'eviction');
  const older = { ...type, apiVersion: registry.dialect.apiVersion('policy', 'v1beta1') };
  const { body, repeatedKeys, yamlFault } = context.request;
  const read = { validation: options.fieldValidation, repeatedKeys, yamlFault };
  const decoded = registry.codec.decodeOneOf(body, encoding, [type, older], read);
  for (const text of decoded.warnings) warn(context, text);
  const eviction = decoded.object as Draft<Eviction>;
  eviction.metadata ??= {};
  requireNamespace(resource, eviction, info.namespace);
  if (eviction.metadata.name !== info.name) throw badRequest('name in URL does not match name in Eviction object');
  const { dryRun: dryRuns = [], ...deleteOptions } = eviction.deleteOptions ?? {};
  const { propagationPolicy: policy, orphanDependents: orphan } = deleteOptions;
  requireValid(registry.dialect, { policy, orphan, dryRuns: dryRuns });
  const dryRun = options.dryRun || dryRuns.includes('All');
  const { namespace, name } = info;
  const call = { operation: 'CREATE', subresource: 'eviction', namespace, name, dryRun, object: eviction } as const;
  // Run admission before a budget is charged.
  await runAdmission('admit', operation, call);
  await runAdmission('validate', operation, call);
  await removeUnchanged(operation, { deleteOptions, dryRun });
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 };
  return registry.responder.object(context, status, 201);
}

/** Limit of attempts for a pod that keeps changing; 1.24's number. */
const maxAttempts = 20;

/** Deletes only the pod that was checked: a budget may apply to it by now, or a new pod may have its name. */
async function removeUnchanged(
  operation: Operation,
  { deleteOptions, dryRun }: { readonly deleteOptions: Omit<DeleteOptions, 'dryRun'>; readonly dryRun: boolean },
): Promise<void> {
  const { context, resource } = operation;
  const { info } = context;
  for (let attempt = 1; ; attempt += 1) {
    const latest = await readEntry(resource, info, { kind: 'latest' }, context.signal);
    const pod = objectOf(resource, latest) as unknown as Pod;
    const { uid, resourceVersion } = deleteOptions.preconditions ?? {};
    const paid = isBudgeted(pod) && (await useBudget(operation, { pod, dryRun }));
    const unchanged = !paid && !isOver(pod) && resourceVersion === undefined;
    const preconditions = {
      ...deleteOptions.preconditions,
      ...(uid === undefined && pod.metadata.uid !== undefined ? { uid: pod.metadata.uid } : {}),
      ...(unchanged ? { resourceVersion: pod.metadata.resourceVersion } : {}),
    };
    try {
      await remove(operation, { name: info, options: { ...deleteOptions, preconditions, dryRun } });
      return;
    } catch (error) {
      const ours = unchanged || uid === undefined;
      if (!ours || !isConflict(error) || attempt === maxAttempts) throw error;
    }
  }
}

/** True if a budget was charged or none applies, so the pod may be deleted as it is. Throws 429 if the budget is exhausted. */
async function useBudget(
  { registry, context }: Operation,
  { pod, dryRun }: { pod: Pod; dryRun: boolean },
): Promise<boolean> {
  const [budgets] = ['v1', 'v1beta1'].flatMap(
    (version) => registry.resources.find('policy', version, 'poddisruptionbudgets') ?? [],
  );
  if (budgets === undefined) return true;
  const namespace = pod.metadata?.namespace ?? '';
  const { entries } = await budgets.storage.list({
    scope: `${namespace}/`,
    version: { kind: 'latest' },
    signal: context.signal,
  });
  const matching = entries
    // Read the stored form: selectors have other meanings in other versions.
    .map((entry) => entry.object() as PodDisruptionBudget)
    // An invalid selector protects no pod.
    .filter((budget) => compileSelector(budget.spec?.selector)?.matches(pod.metadata?.labels) === true);
  if (matching.length > 1) {
    throw internalError(
      new Error('This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.'),
    );
  }
  const [budget] = matching;
  const name = budget?.metadata?.name;
  if (budget === undefined || name === undefined) return true;
  if (costsNothing(budget, pod)) return false;
  await mutate(
    { registry, context, resource: budgets },
    {
      namespace,
      name,
      options: { dryRun, fieldManager: 'eviction', fieldValidation: 'Ignore' },
      profile: statusProfile(budgets),
      trackFields: false,
      change: (current) => disrupted(current as PodDisruptionBudget, pod, registry.clock.now()),
    },
  );
  return true;
}

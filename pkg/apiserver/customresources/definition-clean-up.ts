/**
 * Removes the objects of a deleted definition before the definition itself goes. Source: 1.24,
 * staging/src/k8s.io/apiextensions-apiserver/pkg/controller/finalizer/crd_finalizer.go.
 */
import { isEstablished, type NewCondition } from '#api/apiextensions/v1/customresourcedefinition/conditions.js';
import type { CustomResourceDefinition } from '#api/apiextensions/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { GroupKey } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { ApiObject, Client } from '#client/client.js';

/** Polling for the end of all objects: longest interval, deadline, first interval. */
const pollMs = 5000;
const timeoutMs = 60_000;
const firstPollMs = 100;

export const inProgress: NewCondition = {
  type: 'Terminating',
  status: 'True',
  reason: 'InstanceDeletionInProgress',
  message: 'CustomResource deletion is in progress',
};

const neverEstablished: NewCondition = {
  type: 'Terminating',
  status: 'False',
  reason: 'NeverEstablished',
  message: 'resource was never established',
};

const completed: NewCondition = {
  type: 'Terminating',
  status: 'False',
  reason: 'InstanceDeletionCompleted',
  message: 'removed all instances',
};

/** The result of removing the objects; `done`: none are left. */
export interface CleanUp {
  readonly done: boolean;
  readonly condition: NewCondition;
}

interface CleanUpOptions {
  readonly client: Client;
  readonly clock: Clock;
}

export async function cleanUp(
  { client, clock }: CleanUpOptions,
  definition: CustomResourceDefinition,
  signal: AbortSignal,
): Promise<CleanUp> {
  const type = typeOf(definition);
  if (!isEstablished(definition) || type === undefined) return { done: true, condition: neverEstablished };
  const resource = client.resource(type);
  let objects: ApiObject[];
  try {
    objects = (await resource.list({ signal })).items;
  } catch (error) {
    if (isNotFound(error)) return { done: true, condition: neverEstablished };
    return failed('InstanceDeletionFailed', `could not list instances: ${messageOf(error)}`);
  }
  try {
    const namespaces = new Set(objects.map(({ metadata }) => metadata.namespace ?? ''));
    for (const namespace of namespaces) {
      await resource.deleteCollection({ ...(namespace === '' ? {} : { namespace }), signal });
    }
  } catch (error) {
    return failed('InstanceDeletionFailed', `could not issue all deletes: ${messageOf(error)}`);
  }
  const until = clock.monotonic() + timeoutMs;
  let waitMs = firstPollMs;
  try {
    while (objects.length > 0 && (await resource.list({ signal })).items.length > 0) {
      if (clock.monotonic() > until) throw new Error('timed out waiting for the condition');
      await clock.sleep(waitMs, signal);
      waitMs = Math.min(waitMs * 2, pollMs);
      signal.throwIfAborted();
    }
  } catch (error) {
    return failed('InstanceDeletionCheck', `could not confirm zero CustomResources remaining: ${messageOf(error)}`);
  }
  return { done: true, condition: completed };
}

function failed(reason: string, message: string): CleanUp {
  return { done: false, condition: { type: 'Terminating', status: 'True', reason, message } };
}

/** Any served version; undefined if there is none. */
function typeOf({ spec, status }: CustomResourceDefinition): ResourceType<ApiObject> | undefined {
  const version = spec.versions.find(({ served }) => served)?.name;
  const { kind } = status?.acceptedNames ?? spec.names;
  if (version === undefined) return undefined;
  return {
    group: spec.group as GroupKey,
    version,
    resource: spec.names.plural,
    singular: spec.names.singular ?? '',
    kind,
    namespaced: spec.scope === 'Namespaced',
    verbs: ['list', 'deletecollection'],
  };
}

/** Brings a new (or newer) cluster's own objects into being, at every start. */
import { namespaces } from '#api/core/v1/resources.gen.js';
import { flowschemas, prioritylevelconfigurations } from '#api/flowcontrol/v1beta2/resources.gen.js';
import type { ApiObjectShape } from '#api/meta/object.js';
import { clusterrolebindings, clusterroles, rolebindings, roles } from '#api/rbac/v1/resources.gen.js';
import { priorityclasses } from '#api/scheduling/v1/resources.gen.js';
import { isAlreadyExists, isConflict, isNotFound } from '#apimachinery/errors/status.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import { bootstrapClusterRoleBindings, bootstrapRoleBindings, bootstrapRoles } from '#apiserver/bootstrap/bindings.js';
import { bootstrapClusterRoles } from '#apiserver/bootstrap/cluster-roles.js';
import type { Gate } from '#apiserver/bootstrap/controller-roles.js';
import { bootstrapFlowSchemas, bootstrapPriorityLevels } from '#apiserver/bootstrap/flow-control.js';
import { systemPriorityClasses } from '#apiserver/bootstrap/priority-classes.js';
import { type BindingPlan, plannedBinding, plannedRole } from '#apiserver/bootstrap/rbac-plan.js';
import type { Client } from '#client/client.js';

export interface BootstrapOptions {
  /** As a member of `system:masters`. */
  readonly client: Client;
  readonly gate: Gate;
}

/** Objects written at the same time. */
const concurrency = 8;

/** Makes the cluster's own namespaces, as far as they are missing. Idempotent. */
export async function bootstrapNamespaces(client: Client, signal?: AbortSignal): Promise<void> {
  const own = Object.values(client.dialect.namespaces).map((name) => ({ metadata: { name }, spec: {} }));
  await ensure(client, namespaces, own, signal);
}

/**
 * Makes what is missing and completes what is there, in namespaces that are there. Idempotent; several servers may do it at
 * once.
 */
export async function bootstrapCluster(options: BootstrapOptions, signal?: AbortSignal): Promise<void> {
  const { client } = options;
  const { dialect } = client;
  await Promise.all([
    ensure(client, priorityclasses, systemPriorityClasses, signal),
    ensure(client, prioritylevelconfigurations, bootstrapPriorityLevels(dialect), signal),
    ensure(client, flowschemas, bootstrapFlowSchemas(dialect), signal),
    bootstrapRbac(options, signal),
  ]);
}

async function bootstrapRbac({ client, gate }: BootstrapOptions, signal?: AbortSignal): Promise<void> {
  const { dialect } = client;
  await reconcile(
    client,
    clusterroles,
    bootstrapClusterRoles(dialect, gate),
    (wanted, found) => {
      const object = plannedRole(wanted, found, dialect);
      return object === undefined ? { kind: 'keep' } : { kind: 'update', object };
    },
    signal,
  );
  await reconcile(
    client,
    roles,
    bootstrapRoles(dialect),
    (wanted, found) => {
      const object = plannedRole(wanted, found, dialect);
      return object === undefined ? { kind: 'keep' } : { kind: 'update', object };
    },
    signal,
  );
  await Promise.all([
    reconcile(
      client,
      clusterrolebindings,
      bootstrapClusterRoleBindings(dialect, gate),
      (wanted, found) => plannedBinding(wanted, found, dialect),
      signal,
    ),
    reconcile(
      client,
      rolebindings,
      bootstrapRoleBindings(dialect),
      (wanted, found) => plannedBinding(wanted, found, dialect),
      signal,
    ),
  ]);
}

const within = (signal: AbortSignal | undefined) => (signal === undefined ? {} : { signal });

async function eachOf<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values();
  const worker = async () => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}

const keyOf = ({ metadata }: ApiObjectShape) => `${metadata.namespace ?? ''}/${metadata.name ?? ''}`;

/** Creates those that do not exist. */
async function ensure<T extends ApiObjectShape>(
  client: Client,
  type: ResourceType<T>,
  wanted: readonly T[],
  signal?: AbortSignal,
): Promise<void> {
  await reconcile(client, type, wanted, () => ({ kind: 'keep' }), signal);
}

async function reconcile<T extends ApiObjectShape>(
  client: Client,
  type: ResourceType<T>,
  wanted: readonly T[],
  plan: (wanted: T, found: T) => BindingPlan<T>,
  signal?: AbortSignal,
): Promise<void> {
  const own = client.resource(type);
  // A version that is turned off has no objects to begin with, as in 1.24.
  const items = await own.list(within(signal)).then(
    (list) => list.items,
    (error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    },
  );
  if (items === undefined) return;
  const present = new Map(items.map((item) => [keyOf(item), item]));
  await eachOf(wanted, async (object) => {
    const found = present.get(keyOf(object));
    const scope = object.metadata.namespace === undefined ? {} : { namespace: object.metadata.namespace };
    const options = { ...scope, ...within(signal) };
    try {
      if (found === undefined) {
        await own.create(object, options);
        return;
      }
      const step = plan(object, found);
      switch (step.kind) {
        case 'keep':
          return;
        case 'update':
          await own.update(step.object, options);
          return;
        case 'recreate':
          await own.delete(object.metadata.name ?? '', options);
          await own.create(step.object, options);
          return;
        default:
          step satisfies never;
      }
    } catch (error) {
      // Another server does the same at this moment.
      if (!isAlreadyExists(error) && !isConflict(error) && !isNotFound(error)) throw error;
    }
  });
}

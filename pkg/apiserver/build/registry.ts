/** The dependencies of the generic registry's verbs. */
import { SharedCancellation } from '#apimachinery/cancellation.js';
import type { AdmissionPlugin } from '#apiserver/admission/admission.js';
import type { Authorizer } from '#apiserver/authorization/authorizer.js';
import type { ServerEnvironment } from '#apiserver/build/environment.js';
import type { ResourceSet } from '#apiserver/build/resources.js';
import { MessageSender } from '#apiserver/http/websocket.js';
import { AdmissionMetrics } from '#apiserver/registry/admit.js';
import { ManagedFields } from '#apiserver/registry/managed-fields.js';
import type { RegistryContext, RegistrySettings } from '#apiserver/registry/operation.js';
import { CompressedLists } from '#apiserver/representation/compressed-lists.js';
import type { Responder } from '#apiserver/representation/respond.js';
import { RecentFrames } from '#apiserver/representation/watch-events.js';
import type { WriteHook } from '#apiserver/resources/write-hook.js';

export interface WriteParts {
  /** In the order in which they run. */
  readonly admission?: readonly AdmissionPlugin[];
  readonly hooks?: readonly WriteHook[];
}

export interface RegistrySetup {
  readonly resources: ResourceSet;
  readonly writes: WriteParts;
  readonly responder: Responder;
  readonly authorizer: Authorizer;
  readonly minWatchTimeoutMs: number;
  readonly stallMs: number;
  readonly allowPrivileged: boolean;
  readonly settings: RegistrySettings;
  /** Aborts when the server ends all watches. */
  readonly closing: AbortSignal;
}

/** Memory for compressed lists; their JSON is about ten times as large. */
const compressedListBytes = 32 * 1024 * 1024;

export function buildRegistry(environment: ServerEnvironment, setup: RegistrySetup): RegistryContext {
  const { dialect, clock, turns, log, random, newUID, tracer } = environment;
  const { resources, writes, responder, authorizer, minWatchTimeoutMs, allowPrivileged } = setup;
  const { codec, metrics, gate } = resources;
  return {
    dialect,
    clock,
    turns,
    log,
    random,
    newUID,
    codec,
    metrics,
    gate,
    responder,
    compressed: new CompressedLists(compressedListBytes),
    authorizer,
    admission: {
      plugins: writes.admission ?? [],
      metrics: new AdmissionMetrics(environment.metrics, clock),
    },
    hooks: writes.hooks ?? [],
    managedFields: new ManagedFields({ dialect, clock, codec }),
    resources: resources.table,
    watches: {
      minTimeoutMs: minWatchTimeoutMs,
      closing: new SharedCancellation(setup.closing),
      frames: new RecentFrames(),
      messages: new MessageSender({ clock, stallMs: setup.stallMs }),
    },
    allowPrivileged,
    settings: setup.settings,
    tracer,
  };
}

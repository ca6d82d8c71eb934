import type { ApiObjectShape } from '#api/meta/object.js';
import type { MaybePromise } from '#apimachinery/async/steps.js';
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import type { Draft } from '#apimachinery/draft.js';
import type { ResourceDeclaration } from '#apimachinery/schema/schema.js';
import type { Reinvocation } from '#apiserver/admission/reinvocation.js';
import type { UserInfo } from '#apiserver/http/exchange.js';
import type { RequestContext } from '#apiserver/http/request-context.js';
import type { Codec } from '#apiserver/resources/codec.js';
import type { ResourceTable } from '#apiserver/resources/resource-table.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';
import type { StrategyEnvironment } from '#apiserver/resources/strategy-context.js';
import type { GroupResource } from '#apiserver/resources/write-hook.js';
import type { WriteCondition } from '#storage/resource-storage.js';

export type AdmissionOperation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';

/** The request of an operation, and everything needed to send its objects to a webhook. */
export interface AdmissionScope {
  readonly registry: StrategyEnvironment & {
    readonly codec: Codec;
    readonly resources: ResourceTable;
    readonly turns: Pick<TurnQueue, 'pause'>;
  };
  readonly context: RequestContext;
  /** The addressed version. */
  readonly resource: ServedResource;
}

export interface AdmissionAttributes {
  readonly operation: AdmissionOperation;
  readonly resource: ResourceDeclaration;
  /** Empty for the resource itself. */
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly user: UserInfo;
  readonly dryRun: boolean;
  /** The new object; for subresources with a kind of their own, an object of that kind. Absent for DELETE. */
  readonly object?: ApiObjectShape;
  /** The stored object. Do not modify. */
  readonly oldObject?: ApiObjectShape;
  /** DELETE only: the client's options. */
  readonly options?: object;
  /** Absent in tests of plugins that do not need it. */
  readonly scope?: AdmissionScope;
  /** Set by plugins that may require another round. */
  reinvocation?: Reinvocation;
  /** Adds a `Warning` header to the response. */
  warn(text: string): void;
  /**
   * Makes the write depend on a condition and writes the condition's own updates with it. Only in `validate`, for creations
   * and updates of whole objects; not for dry runs, which write nothing.
   */
  require(condition: WriteCondition): void;
}

/** Attributes of the first pass, whose plugins may change the new object in place. */
export interface MutableAttributes extends AdmissionAttributes {
  readonly object?: Draft<ApiObjectShape>;
}

/**
 * Refuses by throwing a StatusError (mostly 403 Forbidden). Every write passes here, so plugins return a promise only if they
 * must wait.
 */
export interface AdmissionPlugin {
  readonly name: string;
  /** True: the plugin has side effects, so dry runs that it handles are refused. */
  readonly sideEffects?: boolean;
  /** Starts following the plugin's data until the signal aborts. */
  start?(signal: AbortSignal): void;
  /** The resources, with their subresources, that the plugin handles. Absent: all. */
  readonly resources?: readonly GroupResource[];
  handles(attributes: AdmissionAttributes): boolean;
  /** First pass: may change the object. */
  admit?(attributes: MutableAttributes): MaybePromise<void>;
  /** Second pass: sees the final object. */
  validate?(attributes: AdmissionAttributes): MaybePromise<void>;
}

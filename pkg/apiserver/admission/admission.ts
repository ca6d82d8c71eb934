import type { ApiObjectShape } from '#api/meta/object.js';
import type { MaybePromise } from '#apimachinery/async/steps.js';
import type { Draft } from '#apimachinery/draft.js';
import type { ResourceDeclaration } from '#apimachinery/schema/schema.js';
import type { Reinvocation } from '#apiserver/admission/reinvocation.js';
import type { RequestContext } from '#apiserver/http/context.js';
import type { UserInfo } from '#apiserver/http/exchange.js';
import type { Codec } from '#apiserver/resources/codec.js';
import type { ResourceTable } from '#apiserver/resources/resource-table.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';
import type { StrategyEnvironment } from '#apiserver/resources/strategy-context.js';
import type { GroupResource } from '#apiserver/resources/write-hook.js';
import type { WriteCondition } from '#storage/resource-storage.js';

export type AdmissionOperation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';

/** The request behind an operation: what is needed to put its objects to somebody outside of the server. */
export interface AdmissionScope {
  readonly registry: StrategyEnvironment & { readonly codec: Codec; readonly resources: ResourceTable };
  readonly context: RequestContext;
  /** As it was addressed. */
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
  /** The new object. Absent for DELETE. For subresources with a kind of their own: that object. */
  readonly object?: ApiObjectShape;
  /** The object as it is stored. Not to be modified. */
  readonly oldObject?: ApiObjectShape;
  /** Of a deletion: what the client asked for. */
  readonly options?: object;
  /** Absent in tests of what needs none. */
  readonly scope?: AdmissionScope;
  /** Set by plugins that may make another round necessary. */
  reinvocation?: Reinvocation;
  /** Adds a `Warning` header to the response. */
  warn(text: string): void;
  /**
   * Lets the write happen only under that condition, and together with what it puts. For the second pass over creations and
   * updates of whole objects; not for dry runs, which write nothing.
   */
  require(condition: WriteCondition): void;
}

/** What plugins are asked before validation: they may change the new object, in place. */
export interface MutableAttributes extends AdmissionAttributes {
  readonly object?: Draft<ApiObjectShape>;
}

/** Throws a StatusError (mostly 403 Forbidden) to refuse. Who has to wait for nothing returns no promise: every write comes through here. */
export interface AdmissionPlugin {
  readonly name: string;
  /** True: it does something besides judging, so that a dry run which it handles has to be refused. */
  readonly sideEffects?: boolean;
  /** Begins to follow what it needs to know, until the signal aborts. */
  start?(signal: AbortSignal): void;
  /** The resources that it looks at, with their subresources: it is not asked about others. Absent: all. */
  readonly resources?: readonly GroupResource[];
  handles(attributes: AdmissionAttributes): boolean;
  /** First pass: may change the object. */
  admit?(attributes: MutableAttributes): MaybePromise<void>;
  /** Second pass: sees the final object. */
  validate?(attributes: AdmissionAttributes): MaybePromise<void>;
}

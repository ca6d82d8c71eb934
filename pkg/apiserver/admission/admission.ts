import type { ApiObjectShape } from '#api/meta/object.js';
import type { MaybePromise } from '#apimachinery/async/maybe-promise.js';
import type { ResourceDeclaration } from '#apimachinery/schema/schema.js';
import type { UserInfo } from '#apiserver/http/exchange.js';
import type { WriteCondition } from '#storage/resource-storage.js';

export type AdmissionOperation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';

export interface AdmissionAttributes {
  readonly operation: AdmissionOperation;
  readonly resource: ResourceDeclaration;
  /** Empty for the resource itself. */
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly user: UserInfo;
  readonly dryRun: boolean;
  /** The new object; mutating plugins change it in place. Absent for DELETE. For subresources with a kind of their own: that object. */
  readonly object?: ApiObjectShape;
  /** The object as it is stored. Not to be modified. */
  readonly oldObject?: ApiObjectShape;
  /** Adds a `Warning` header to the response. */
  warn(text: string): void;
  /**
   * Lets the write happen only under that condition, and together with what it puts. For the second pass over creations and
   * updates of whole objects; not for dry runs, which write nothing.
   */
  require(condition: WriteCondition): void;
}

/** Throws a StatusError (mostly 403 Forbidden) to refuse. Who has to wait for nothing returns no promise: every write comes through here. */
export interface AdmissionPlugin {
  readonly name: string;
  /** True: it does something besides judging, so that a dry run which it handles has to be refused. */
  readonly sideEffects?: boolean;
  handles(attributes: AdmissionAttributes): boolean;
  /** First pass: may change the object. */
  admit?(attributes: AdmissionAttributes): MaybePromise<void>;
  /** Second pass: sees the final object. */
  validate?(attributes: AdmissionAttributes): MaybePromise<void>;
}

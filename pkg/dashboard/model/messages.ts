/** Messages between a page and its worker. The worker holds the watches and all rows; a page gets what it shows. */

import type { ApiObject } from '#dashboard/model/api-object.js';
import type { NodeFill } from '#dashboard/model/node-fill.js';
import type { Sorting } from '#dashboard/model/order.js';
import type { Overview } from '#dashboard/model/overview.js';
import type { TreeNode } from '#dashboard/model/owner-tree.js';
import type { Column, Row } from '#dashboard/model/table.js';
import type { Trouble } from '#dashboard/model/trouble.js';
import type { Answer } from '#insight/inquiry/finding.js';

/** How requests prove who sends them. */
export type Credentials =
  /** A cookie of the loopback server, whose streams are WebSockets, because browsers open only six other connections. */
  { readonly kind: 'cookie' } | { readonly kind: 'bearer'; readonly token: string };

/** A collection to list and watch. */
export interface SourceQuery {
  /** Of the collection: `/api/v1/namespaces/shop/pods`. */
  readonly path: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Absent: it can be watched. */
  readonly isUnwatched?: boolean;
}

export type Liveness = 'loading' | 'live' | 'reconnecting';

export interface TableSpec extends SourceQuery {
  readonly type: 'table';
  readonly filter: string;
  readonly sorting: Sorting | undefined;
  /** The rows that the page shows. */
  readonly first: number;
  readonly count: number;
}

export interface TableState {
  readonly columns: readonly Column[];
  readonly first: number;
  readonly rows: readonly Row[];
  /** Rows that match the filter. */
  readonly matching: number;
  readonly total: number;
  readonly liveness: Liveness;
  readonly trouble: Trouble | undefined;
  /** Only of namespaces that the user may read. */
  readonly isPartial: boolean;
}

/** Whole objects of one or a few collections: one object, its events, what a topology shows. */
export interface ObjectsSpec {
  readonly type: 'objects';
  readonly sources: readonly SourceQuery[];
}

export interface ObjectsState {
  /** Of each source, in the order of the specification. */
  readonly lists: readonly ObjectList[];
}

export interface ObjectList {
  readonly items: readonly ApiObject[];
  readonly liveness: Liveness;
  readonly trouble: Trouble | undefined;
  /** Only of namespaces that the user may read. */
  readonly isPartial: boolean;
}

export interface OverviewSpec {
  readonly type: 'overview';
  /** Absent: all namespaces. */
  readonly namespace?: string;
}

/** The tree of one object's owners, among objects of these kinds. */
export interface OwnersSpec {
  readonly type: 'owners';
  readonly uid: string;
  readonly kinds: readonly {
    readonly group: string;
    readonly resource: string;
    readonly kind: string;
    /** Of the collection. */
    readonly path: string;
  }[];
}

export interface OwnersState {
  readonly nodes: readonly TreeNode[];
  readonly isLoading: boolean;
}

export interface NodesSpec {
  readonly type: 'nodes';
  /** Of the metrics of nodes; absent: there are none. */
  readonly usagePath?: string;
}

export interface NodesState {
  readonly nodes: readonly NodeFill[];
  readonly isLoading: boolean;
  readonly trouble: Trouble | undefined;
}

export interface LiveSpecs {
  readonly table: TableSpec;
  readonly objects: ObjectsSpec;
  readonly overview: OverviewSpec;
  readonly owners: OwnersSpec;
  readonly nodes: NodesSpec;
}

export interface LiveStates {
  readonly table: TableState;
  readonly objects: ObjectsState;
  readonly overview: Overview;
  readonly owners: OwnersState;
  readonly nodes: NodesState;
}

export type LiveType = keyof LiveSpecs;
export type LiveSpec = LiveSpecs[LiveType];
export type LiveState = LiveStates[LiveType];

export interface WhyRequest {
  readonly kind: string;
  /** Of the object. */
  readonly path: string;
  readonly namespace?: string;
  readonly name: string;
}

export type ToWorker =
  | { readonly type: 'start'; readonly credentials: Credentials; readonly dialect: 'orch' | 'kubernetes' }
  /** Starts a subscription, or changes it. */
  | { readonly type: 'show'; readonly id: number; readonly spec: LiveSpec }
  | { readonly type: 'end'; readonly id: number }
  | { readonly type: 'why'; readonly id: number; readonly request: WhyRequest };

export type FromWorker =
  | { readonly type: 'state'; readonly id: number; readonly state: LiveState }
  | { readonly type: 'answer'; readonly id: number; readonly answer: Answer }
  | { readonly type: 'failure'; readonly id: number; readonly trouble: Trouble };

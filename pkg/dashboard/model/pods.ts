/** What pages read of pods. Pure. */

import type { ApiObject } from '#dashboard/model/api-object.js';
import type { Kind } from '#dashboard/model/catalog.js';

export interface ContainerState {
  readonly waiting?: { readonly reason?: string; readonly message?: string };
  readonly running?: { readonly startedAt?: string };
  readonly terminated?: {
    readonly reason?: string;
    readonly message?: string;
    readonly exitCode?: number;
    readonly signal?: number;
    readonly finishedAt?: string;
  };
}

export interface ContainerStatus {
  readonly name: string;
  readonly ready?: boolean;
  readonly restartCount?: number;
  readonly state?: ContainerState;
  readonly lastState?: ContainerState;
}

export interface Container {
  readonly name: string;
  readonly image?: string;
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number; readonly protocol?: string }[];
  readonly resources?: {
    readonly requests?: Readonly<Record<string, string>>;
    readonly limits?: Readonly<Record<string, string>>;
  };
}

export interface PodObject extends ApiObject {
  readonly spec: {
    readonly nodeName?: string;
    readonly serviceAccountName?: string;
    readonly priorityClassName?: string;
    readonly containers: readonly Container[];
    readonly initContainers?: readonly Container[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly podIP?: string;
    readonly qosClass?: string;
    readonly containerStatuses?: readonly ContainerStatus[];
    readonly initContainerStatuses?: readonly ContainerStatus[];
  };
}

export function isPod(object: ApiObject, { group, resource }: Pick<Kind, 'group' | 'resource'>): object is PodObject {
  return group === '' && resource === 'pods' && 'spec' in object;
}

/** The state in words: `Running`, `CrashLoopBackOff`, `Error (exit code 1)`. */
export function stateText(state: ContainerState | undefined): string {
  if (state?.waiting !== undefined) return state.waiting.reason ?? 'Waiting';
  if (state?.running !== undefined) return 'Running';
  if (state?.terminated === undefined) return 'Waiting';
  const { reason = 'Terminated', exitCode, signal } = state.terminated;
  if (reason === 'Completed') return reason;
  return `${reason} (${signal === undefined || signal === 0 ? `exit code ${exitCode ?? '?'}` : `signal ${signal}`})`;
}

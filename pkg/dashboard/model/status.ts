/** What a row's own words say about its health: the tone of a status, and what is wrong. Pure. */
import type { CellReader, Row } from '#dashboard/model/table.js';

export type Tone = 'good' | 'busy' | 'bad' | 'idle';

const good =
  /^(?:Running|Ready|Active|Bound|Available|True|Complete|Succeeded|Approved,Issued|Deployed|Healthy|Normal)$/;
const idle = /^(?:Completed|Ready,SchedulingDisabled|Released|False|Unknown\/NA)$/;
const busy =
  /^(?:Pending|ContainerCreating|PodInitializing|Terminating|Init:\d+\/\d+|Progressing|Suspended|Approved|Released|NotReady,SchedulingDisabled)$/;
const statusWords =
  /Err|BackOff|Failed|Failure|Evicted|NotReady|Lost|Unknown|Invalid|OOM|Stuck|Warning|Denied|Unschedulable/;

/** The tone of a status's text; undefined for texts that are no status. */
export function toneOf(text: string): Tone | undefined {
  if (good.test(text)) return 'good';
  if (idle.test(text)) return 'idle';
  if (busy.test(text)) return 'busy';
  return statusWords.test(text) ? 'bad' : undefined;
}

/** A pod may take this long to start, and this long to end. */
const startMs = 60_000;
const endMs = 300_000;

/** What is wrong with the object of a row, in the table's own words; undefined if nothing is. */
export function troubleOf(kind: string, read: CellReader, row: Row, nowMs: number): string | undefined {
  const ageMs = nowMs - row.createdMs;
  if (row.isDeleted && kind !== 'Pod') return 'Terminating';
  switch (kind) {
    case 'Pod':
      return podTrouble(read, row, ageMs);
    case 'Node': {
      const status = read(row, 'Status');
      return status.startsWith('Ready') ? undefined : status;
    }
    case 'PersistentVolumeClaim': {
      const status = read(row, 'Status');
      return status === 'Bound' || ageMs < startMs ? undefined : status;
    }
    case 'Namespace': {
      const status = read(row, 'Status');
      return status === 'Active' || ageMs < startMs ? undefined : status;
    }
    case 'DaemonSet':
      return shortage(read(row, 'Ready'), read(row, 'Desired'));
    default: {
      const [ready = '', desired = ''] = read(row, 'Ready').split('/');
      return shortage(ready, desired);
    }
  }
}

function podTrouble(read: CellReader, row: Row, ageMs: number): string | undefined {
  const status = read(row, 'Status');
  if (status === 'Terminating') return ageMs > endMs ? status : undefined;
  if (status === 'Completed' || status === 'Succeeded') return undefined;
  if (toneOf(status) === 'busy') return ageMs > startMs ? status : undefined;
  if (status !== 'Running') return status;
  const [ready = '', desired = ''] = read(row, 'Ready').split('/');
  return ageMs > startMs ? shortage(ready, desired) : undefined;
}

function shortage(ready: string, desired: string): string | undefined {
  return Number(ready) < Number(desired) ? `${ready} of ${desired} ready` : undefined;
}

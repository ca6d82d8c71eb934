/** Conflicts of a server-side apply, by manager. Pure. */
import type { RequestError } from '#dashboard/model/trouble.js';

export interface Conflict {
  readonly manager: string;
  readonly fields: readonly string[];
}

/** The causes say `conflict with "kubectl" using apps/v1`, each with its field. */
export function conflictsOf({ status }: Pick<RequestError, 'status'>): Conflict[] {
  const byManager = new Map<string, string[]>();
  for (const { reason, message = '', field = '' } of status?.details?.causes ?? []) {
    if (reason !== 'FieldManagerConflict') continue;
    const manager = /conflict with "((?:[^"\\]|\\.)*)"/.exec(message)?.[1] ?? message;
    byManager.set(manager, [...(byManager.get(manager) ?? []), field]);
  }
  return [...byManager].map(([manager, fields]) => ({ manager, fields }));
}

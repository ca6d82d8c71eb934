/** What becomes of one APIService that the server keeps itself: the rules of 1.24's `autoregister_controller.go`. Pure. */
import type { APIService } from '#api/apiregistration/v1/types.gen.js';
import type { Management } from '#apiserver/aggregation/registration/local-services.js';

export interface Situation {
  /** As it should be; undefined: there should be none. */
  readonly wanted: { readonly service: APIService; readonly management: Management | undefined } | undefined;
  /** As it is. */
  readonly found: APIService | undefined;
  /** What the label of the one that there is says. */
  readonly foundManagement: string | undefined;
  /** It was there when this server started. */
  readonly atStart: boolean;
  /** This server has been through with it once. */
  readonly settled: boolean;
}

export type Step =
  | { readonly kind: 'none' }
  | { readonly kind: 'create'; readonly service: APIService }
  | { readonly kind: 'update'; readonly service: APIService }
  | { readonly kind: 'delete' };

const none: Step = { kind: 'none' };

/** Whoever takes the label off, or changes one that is kept on start only, has the last word. */
export function plan({ wanted, found, foundManagement, atStart, settled }: Situation): Step {
  if (wanted === undefined && found === undefined) return none;
  if (wanted !== undefined && wanted.management !== 'true' && settled) return none;
  if (found === undefined) return wanted === undefined ? none : { kind: 'create', service: wanted.service };
  if (foundManagement !== 'true' && foundManagement !== 'onstart') return none;
  if (foundManagement === 'onstart' && (!atStart || settled)) return none;
  if (wanted === undefined) return { kind: 'delete' };
  return isSame(found, wanted.service) ? none : { kind: 'update', service: { ...found, spec: wanted.service.spec } };
}

function isSame({ spec: a }: APIService, { spec: b }: APIService): boolean {
  return (
    a.service === undefined &&
    (a.group ?? '') === (b.group ?? '') &&
    a.version === b.version &&
    a.groupPriorityMinimum === b.groupPriorityMinimum &&
    a.versionPriority === b.versionPriority &&
    (a.caBundle ?? '') === '' &&
    a.insecureSkipTLSVerify !== true
  );
}

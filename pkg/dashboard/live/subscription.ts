import type { SharedSources } from '#dashboard/live/shared-sources.js';
import type { LiveSpecs, LiveStates, LiveType } from '#dashboard/model/messages.js';

/** What a page shows, kept up to date. */
export interface Subscription<T extends LiveType> {
  /** False where the new specification needs a new subscription. */
  change(spec: LiveSpecs[T]): boolean;
  state(): LiveStates[T];
  close(): void;
}

export interface SubscriptionContext {
  readonly sources: SharedSources;
  readonly now: () => number;
  /** The state has changed. */
  readonly touch: () => void;
}

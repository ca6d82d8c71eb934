import type { StoredObject } from '#insight/inquiry/observations.js';
import type { Scene } from '#insight/testing/memory-observations.js';

export interface Situation extends Scene {
  readonly name: string;
  /** The object in question. */
  readonly about: StoredObject;
  /** Reason of the first root cause. */
  readonly root: string;
  /** Part of the answer's summary. */
  readonly says: string;
  /** Part of the evidence. */
  readonly quotes?: string;
  /** Reasons of further root causes. */
  readonly others?: readonly string[];
}

export interface HealthyScene extends Scene {
  readonly name: string;
  readonly about: StoredObject;
  readonly verdict: 'Healthy' | 'Progressing';
}

/** Freezes informer objects, so that a controller that modifies one fails its test. */
import { deepFreeze } from '#apimachinery/freeze.js';
import type { ApiObject } from '#client/client.js';

/** A transform for informers. */
export function frozen<T extends ApiObject>(object: T): T {
  deepFreeze(object);
  return object;
}

/** Informers whose objects cannot be changed: a controller that tries to fails, and with it the test. */
import { deepFreeze } from '#apimachinery/freeze.js';
import type { ApiObject } from '#client/client.js';

/** A transform of informers. */
export function frozen<T extends ApiObject>(object: T): T {
  deepFreeze(object);
  return object;
}

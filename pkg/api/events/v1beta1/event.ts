import { declaration as stable } from '#api/events/v1/event.js';
import { anotherVersion } from '#apimachinery/schema/another-version.js';

export const declaration = anotherVersion(stable, {
  storedAs: { group: 'core', version: 'v1' },
  deprecation: { since: '1.22', until: '1.25' },
});

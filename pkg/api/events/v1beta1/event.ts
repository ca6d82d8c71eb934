import { declaration as stable } from '#api/events/v1/event.js';
import { derivedVersion } from '#apimachinery/schema/derived-version.js';

export const declaration = derivedVersion(stable, {
  storedAs: { group: 'core', version: 'v1' },
  deprecation: { since: '1.22', until: '1.25' },
});

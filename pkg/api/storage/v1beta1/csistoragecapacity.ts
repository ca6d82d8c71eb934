import { declaration as stable } from '#api/storage/v1/csistoragecapacity.js';
import { anotherVersion } from '#apimachinery/schema/another-version.js';

export const declaration = anotherVersion(stable, {
  storedAs: { version: 'v1' },
  deprecation: { since: '1.24', until: '1.27', replacement: 'v1' },
});

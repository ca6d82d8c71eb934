import { declaration as stable } from '#api/storage/v1/csistoragecapacity.js';
import { derivedVersion } from '#apimachinery/schema/derived-version.js';

export const declaration = derivedVersion(stable, {
  storedAs: { version: 'v1' },
  deprecation: { since: '1.24', until: '1.27', replacement: 'v1' },
});

import { declaration as stable } from '#api/node/v1/runtimeclass.js';
import { derivedVersion } from '#apimachinery/schema/derived-version.js';

export const declaration = derivedVersion(stable, {
  storedAs: { version: 'v1' },
  deprecation: { since: '1.22', until: '1.25' },
});

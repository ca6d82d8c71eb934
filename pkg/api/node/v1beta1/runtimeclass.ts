import { declaration as stable } from '#api/node/v1/runtimeclass.js';
import { anotherVersion } from '#apimachinery/schema/another-version.js';

export const declaration = anotherVersion(stable, {
  storedAs: { version: 'v1' },
  deprecation: { since: '1.22', until: '1.25' },
});

import { declaration as stable } from '#api/admission/v1/shared.js';
import type { KindDeclaration } from '#apimachinery/schema/schema.js';

/** What webhooks may ask for that know no newer version. */
export const declaration: KindDeclaration = stable;

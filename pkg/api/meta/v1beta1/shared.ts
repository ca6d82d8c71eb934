import { declaration as stable } from '#api/meta/v1/shared.js';
import { bareKind, defineTypes, object, optional, required } from '#apimachinery/schema/language.js';

const { PartialObjectMetadata, PartialObjectMetadataList } = stable.types;

export const declaration = defineTypes({
  types: {
    PartialObjectMetadata: object(PartialObjectMetadata?.doc ?? '', {}),
    PartialObjectMetadataList: bareKind(PartialObjectMetadataList?.doc ?? '', {
      // The order differs from newer lists.
      items: required(1, 'PartialObjectMetadata[]', 'The objects of the list.'),
      metadata: optional(2, 'meta.v1.ListMeta', 'Standard list metadata: its resource version, and where to continue when it comes in chunks.'),
    }),
  },
});

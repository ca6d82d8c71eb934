import { declaration as stable } from '#api/meta/v1/shared.js';
import type { KindDeclaration } from '#apimachinery/schema/schema.js';

const { PartialObjectMetadata, PartialObjectMetadataList } = stable.docs ?? {};

export const declaration: KindDeclaration = {
  types: {
    PartialObjectMetadata: {
      metadata: {
        number: 1,
        type: 'meta.v1.ObjectMeta',
        omitempty: true,
        optional: true,
        doc: 'Name, labels, annotations and other data that every object has.',
      },
    },
    PartialObjectMetadataList: {
      // Not in the order of newer lists.
      items: { number: 1, type: 'PartialObjectMetadata', repeated: true, doc: 'The objects of the list.' },
      metadata: {
        number: 2,
        type: 'meta.v1.ListMeta',
        omitempty: true,
        optional: true,
        doc: 'Resource version of the list, and where to continue when it comes in chunks.',
      },
    },
  },
  docs: {
    ...(PartialObjectMetadata !== undefined && { PartialObjectMetadata }),
    ...(PartialObjectMetadataList !== undefined && { PartialObjectMetadataList }),
  },
};

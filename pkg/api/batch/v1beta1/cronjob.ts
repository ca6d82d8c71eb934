import { declaration as stable } from '#api/batch/v1/cronjob.js';
import { anotherVersion } from '#apimachinery/schema/another-version.js';
import type { KindDeclaration } from '#apimachinery/schema/schema.js';

const optional = { omitempty: true, optional: true } as const;

export const declaration: KindDeclaration = anotherVersion(stable, {
  storedAs: { version: 'v1' },
  deprecation: { since: '1.21', until: '1.25', replacement: 'v1' },
  types: {
    JobTemplate: {
      metadata: {
        number: 1,
        type: 'meta.v1.ObjectMeta',
        ...optional,
        doc: 'Name, labels, annotations and other data that every object has.',
      },
      template: { number: 2, type: 'JobTemplateSpec', ...optional, doc: 'The Job to be made.' },
    },
    JobTemplateSpec: {
      ...stable.types['JobTemplateSpec'],
      spec: { number: 2, type: 'batch.v1.JobSpec', ...optional, doc: 'What the Jobs are meant to do.' },
    },
  },
  docs: { JobTemplate: 'A Job to be made, as an object of its own.' },
});

import { declaration as stable } from '#api/batch/v1/cronjob.js';
import { derivedVersion } from '#apimachinery/schema/derived-version.js';
import { object, optional } from '#apimachinery/schema/language.js';

export const declaration = derivedVersion(stable, {
  storedAs: { version: 'v1' },
  deprecation: { since: '1.21', until: '1.25', replacement: 'v1' },
  fields: { JobTemplateSpec: { spec: optional(2, 'batch.v1.JobSpec', 'What the Jobs are meant to do.') } },
  types: {
    JobTemplate: object('A Job to be made, as an object of its own.', {
      template: optional(2, 'JobTemplateSpec', 'The Job to be made.'),
    }),
  },
});

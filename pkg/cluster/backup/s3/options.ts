import type { OptionTable } from '#daemon/options/option.js';

/** Access to the store of a bucket. Its credentials are in the environment. */
export const s3Options = {
  's3-endpoint': {
    type: 'string',
    section: 'Bucket',
    meaning: 'URL of the S3-compatible store. Default: Amazon’s of the region.',
  },
  's3-region': {
    type: 'string',
    section: 'Bucket',
    meaning: 'Region of the bucket. Default: AWS_REGION, else us-east-1.',
  },
} as const satisfies OptionTable;

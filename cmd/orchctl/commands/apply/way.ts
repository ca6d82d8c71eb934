import type { Dialect } from '#apimachinery/dialect.js';
import type { ApiObject } from '#client/client.js';
import type { DryRun } from '#cmd/orchctl/commands/writing.js';
import type { Directive } from '#cmd/orchctl/validation/validate.js';

/** How objects are applied. */
export interface ApplyWay {
  readonly dryRun: DryRun;
  readonly directive: Directive;
  readonly dialect: Dialect;
}

export interface Applied {
  readonly object: ApiObject;
  /** `created`, `configured`, `unchanged`, `serverside-applied`. */
  readonly verb: string;
}

/** The manager of server-side apply. */
export const fieldManager = 'orchctl';

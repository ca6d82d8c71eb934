/** Objects of files that are checked before the first of them is sent. */
import type { Invocation } from '#cmd/orchctl/commands/command.js';
import { type Manifest, readManifests } from '#cmd/orchctl/commands/manifests.js';
import { dryRunOption, filenameOptions, labelSelectorOption } from '#cmd/orchctl/commands/options.js';
import { printOptions } from '#cmd/orchctl/print/formats.js';
import { type Directive, validateManifests, validateOption } from '#cmd/orchctl/validation/validate.js';
import type { OptionTable } from '#daemon/options/option.js';

/** Options of commands that send the objects of files. */
export const manifestOptions = {
  ...filenameOptions,
  ...labelSelectorOption,
  ...printOptions,
  ...validateOption,
  ...dryRunOption,
} as const satisfies OptionTable;

/** The objects that `selects` takes. Throws a CommandError if one of them is invalid. */
export async function checkedManifests(
  invocation: Invocation,
  directive: Directive,
  selects: (manifest: Manifest) => boolean = () => true,
): Promise<Manifest[]> {
  const { api, err } = invocation;
  const manifests = (await readManifests(invocation, await api.catalog())).filter(selects);
  await validateManifests(manifests, {
    directive,
    document: () => api.openAPI(),
    warn: (text) => err.write(`${text}\n`),
  });
  return manifests;
}

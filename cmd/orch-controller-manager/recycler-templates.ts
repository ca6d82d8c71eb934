/** Reads the templates of recycler pods that the manager's options name. Throws OptionsError for a bad template. */

import type { ControllerInputs } from '#controllers/factory.js';
import type { ControllerManagerValues } from '#controllers/options/options.js';
import type { RecyclerTemplate } from '#controllers/persistentvolumebinder/recycling.js';
import { textOf } from '#daemon/certificates/followed-file.js';
import { isPlain, parseConfigText } from '#daemon/options/config-decode.js';
import { OptionsError } from '#daemon/options/option.js';

export async function recyclerTemplates(values: ControllerManagerValues): Promise<ControllerInputs['recyclers']> {
  const nfs = await template(values, 'pv-recycler-pod-template-filepath-nfs');
  const hostPath = await template(values, 'pv-recycler-pod-template-filepath-hostpath');
  return { ...(nfs === undefined ? {} : { nfs }), ...(hostPath === undefined ? {} : { hostPath }) };
}

type TemplateOption = Extract<keyof ControllerManagerValues, `pv-recycler-pod-template-${string}`>;

async function template(
  values: ControllerManagerValues,
  option: TemplateOption,
): Promise<RecyclerTemplate | undefined> {
  const path = values[option] ?? '';
  if (path === '') return undefined;
  const refuse = (why: string) => new OptionsError([`--${option}: ${path}: ${why}`]);
  const pod = parsed(await textOf(option, path), refuse);
  if (pod['kind'] !== 'Pod' || pod['apiVersion'] !== 'v1') throw refuse('holds no v1 Pod');
  const { metadata = {}, spec } = pod;
  if (!isPlain(metadata) || !isPlain(spec)) throw refuse('holds no v1 Pod');
  if (!Array.isArray(spec['containers'])) throw refuse('does not contain any container');
  if (!Array.isArray(spec['volumes']) || spec['volumes'].length === 0) throw refuse('does not contain any volume(s)');
  // The API server validates the rest.
  return { metadata, spec: { ...spec, containers: spec['containers'] } };
}

function parsed(text: string, refuse: (why: string) => OptionsError) {
  try {
    return parseConfigText(text);
  } catch (error) {
    throw error instanceof OptionsError ? refuse(error.messages.join('; ')) : error;
  }
}

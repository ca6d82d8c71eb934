/** A plugin's own part of the configuration file of admission plugins. */
import { decodeFields, type FieldTable, isPlain, type Plain } from '#daemon/options/config-decode.js';
import { OptionsError } from '#daemon/options/option.js';

/** The option that names the file. */
export const configurationOption = 'admission-control-config-file';

export interface PluginConfiguration {
  /** The file that contains it, for errors and for relative paths. */
  readonly path: string;
  /** Parsed YAML or JSON. */
  readonly value: unknown;
}

export interface ConfigurationType {
  readonly fields: FieldTable;
  readonly kind: string;
  /** Groups with versions (`apiserver.config.orch.io/v1`) in which the kind may be written. */
  readonly versions: readonly string[];
}

/** The configuration's fields; unknown fields, wrong types and another kind are errors. Throws OptionsError. */
export function decodeConfiguration(
  { path, value }: PluginConfiguration,
  { fields, kind, versions }: ConfigurationType,
): Plain {
  if (!isPlain(value)) throw configurationError(path, ['must be an object']);
  const errors: string[] = [];
  const result = decodeFields(fields, value, errors);
  if (value['kind'] !== kind || !versions.some((version) => value['apiVersion'] === version)) {
    const quoted = versions.map((version) => JSON.stringify(version)).join(' or ');
    errors.unshift(`got unexpected config type: apiVersion must be ${quoted} and kind "${kind}"`);
  }
  if (errors.length > 0) throw configurationError(path, errors);
  return result;
}

/** An error for each text, naming the option and the file. */
export function configurationError(path: string, errors: readonly string[]): OptionsError {
  return new OptionsError(errors.map((error) => `--${configurationOption}: ${path}: ${error}`));
}

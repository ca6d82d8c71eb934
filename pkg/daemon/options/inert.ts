/**
 * What follows from setting an option without effect. A warning is enough where nothing depends on it. An option that protects the
 * cluster ends the start: an operator who set it relies on a protection that is not there.
 */
import type { OptionDeclaration, OptionTable } from '#daemon/options/option.js';
import { defaultValue } from '#daemon/options/value.js';

export interface InertFindings {
  readonly warnings: readonly string[];
  /** Each ends the start. */
  readonly refusals: readonly string[];
}

/** Whether the value asks for something that does not happen. Nothing, and the values of `inertUnless`, happen anyway. */
function isVain(declaration: OptionDeclaration, value: unknown): boolean {
  if (declaration.inert === undefined) return false;
  if (declaration.inertUnless?.includes(String(value)) === true) return false;
  return declaration.default !== undefined || !isSame(value, defaultValue(declaration));
}

/** The findings for one option or field; `label` is its name in messages, such as `Flag --x`. */
export function inertFinding(declaration: OptionDeclaration, label: string, value: unknown): InertFindings {
  if (!isVain(declaration, value)) return { warnings: [], refusals: [] };
  const text = `${label} has no effect: ${declaration.inert}`;
  if (declaration.protects !== true) return { warnings: [text], refusals: [] };
  return { warnings: [], refusals: [`${text}; it protects the cluster, so the start ends here`] };
}

/** The findings for the options that a command line sets. */
export function inertFindings(table: OptionTable, given: ReadonlyMap<string, unknown>): InertFindings {
  const findings = [...given].flatMap(([name, value]) => {
    const declaration = table[name];
    return declaration === undefined ? [] : [inertFinding(declaration, `Flag --${name}`, value)];
  });
  return {
    warnings: findings.flatMap(({ warnings }) => warnings),
    refusals: findings.flatMap(({ refusals }) => refusals),
  };
}

/** Whether two values of an option are equal; an empty text is as good as none. */
function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a ?? '') === JSON.stringify(b ?? '');
}

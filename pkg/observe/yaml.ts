import { stringify } from 'yaml';

/** YAML without folded lines and without aliases. */
export function yamlText(value: object): string {
  return stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });
}

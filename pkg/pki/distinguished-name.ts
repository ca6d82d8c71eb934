/** Subject and issuer of certificates: the part of X.501 names that users and groups need. */
import {
  children,
  type DerElement,
  element,
  oid,
  oidText,
  sequence,
  set,
  stringText,
  tag,
  utf8String,
} from '#apimachinery/asn1/der.js';

export interface DistinguishedName {
  readonly commonName: string;
  /** Groups, in a client certificate. */
  readonly organizations: readonly string[];
}

const commonNameOid = '2.5.4.3';
const organizationOid = '2.5.4.10';

/** DER of a name: one relative name per organization, then the common name. */
export function encodeName(name: DistinguishedName): Buffer {
  const parts = name.organizations.map((value) => attribute(organizationOid, value));
  if (name.commonName !== '') parts.push(attribute(commonNameOid, name.commonName));
  return sequence(...parts);
}

/**
 * Attributes that a certificate copies from a request, in this order: country, organizations, units, localities,
 * states, streets, postal codes, common name, serial number.
 */
const certifiedOids = [
  '2.5.4.6',
  organizationOid,
  '2.5.4.11',
  '2.5.4.7',
  '2.5.4.8',
  '2.5.4.9',
  '2.5.4.17',
  commonNameOid,
  '2.5.4.5',
];
/** Attributes with one value: the last one of the request. */
const singleOids: readonly string[] = [commonNameOid, '2.5.4.5'];

/** DER of the name, reduced to the attributes of certificates. Throws `DerError`. */
export function certifiedName(name: DerElement): Buffer {
  const requested = attributes(name);
  const parts = certifiedOids.flatMap((type) => {
    const values = requested.filter((each) => each.type === type).map(({ value }) => stringText(value));
    return (singleOids.includes(type) ? values.slice(-1) : values).map((value) => attribute(type, value));
  });
  return sequence(...parts);
}

function attribute(type: string, value: string): Buffer {
  // PrintableString where it can hold the text, like other issuers: some readers compare bytes.
  const printable = /^[A-Za-z0-9 '()+,\-./:=?]*$/.test(value);
  const text = printable ? element(tag.printableString, Buffer.from(value, 'latin1')) : utf8String(value);
  return set(sequence(oid(type), text));
}

/** Reads common name (the last one wins) and organizations, and skips other attributes. Throws `DerError`. */
export function decodeName(name: DerElement): DistinguishedName {
  let commonName = '';
  const organizations: string[] = [];
  for (const { type, value } of attributes(name)) {
    if (type === commonNameOid) commonName = stringText(value);
    else if (type === organizationOid) organizations.push(stringText(value));
  }
  return { commonName, organizations };
}

function attributes(name: DerElement): { readonly type: string; readonly value: DerElement }[] {
  return children(name).flatMap((relative) =>
    children(relative, tag.set).flatMap((pair) => {
      const [type, value] = children(pair);
      return type === undefined || value === undefined ? [] : [{ type: oidText(type.contents), value }];
    }),
  );
}

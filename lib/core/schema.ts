// JSON Schema, draft 2020-12, through ajv. Loading ajv takes longer than all the rest of core: it waits for the first use.
import type { AnySchemaObject, ErrorObject } from 'ajv/dist/2020.js';
import { isJsonObject } from './arguments.js';
import { errorMessage } from './results.js';
import type { Json } from './types.js';

/** Says what is wrong with a value (paths and causes), or nothing where it is valid. */
export type Validate = (value: Json) => string | undefined;

/** More than this would not help the model to repair its call. */
const MAX_CAUSES = 3;

/** Validators by the JSON text of their schema, so that a tool set that is declared anew compiles nothing. */
const compiled = new Map<string, Validate>();

/** What is wrong with a tool's input schema, as one line. Compiles only where the meta-schema cannot see it all. */
export async function schemaProblem(schema: Json): Promise<string | undefined> {
  const text = JSON.stringify(schema);
  if (compiled.has(text)) return undefined;
  try {
    const ajv = await loadAjv();
    if (!ajv.validateSchema(plainSchema(schema))) {
      return `the schema is invalid: ${describe(ajv.errors ?? [])}`;
    }
    if (/"(\$\w+|pattern|patternProperties)":/.test(text)) await compileSchema(schema);
    return undefined;
  } catch (error) {
    return `the schema does not compile: ${errorMessage(error)}`;
  }
}

/** Compiles a schema, once per text. Throws where it does not compile. */
export async function compileSchema(schema: Json): Promise<Validate> {
  const text = JSON.stringify(schema);
  const known = compiled.get(text);
  if (known) return known;
  const ajv = await loadAjv();
  const check = ajv.compile(plainSchema(schema));
  const validate: Validate = (value) => (check(value) ? undefined : describe(check.errors ?? []));
  compiled.set(text, validate);
  return validate;
}

let ajvLoading: ReturnType<typeof importAjv> | undefined;

function loadAjv(): ReturnType<typeof importAjv> {
  ajvLoading ??= importAjv();
  return ajvLoading;
}

async function importAjv() {
  // In the bundle, a CommonJS module has its default export only.
  const {
    default: { Ajv2020 },
  } = await import('ajv/dist/2020.js');
  return new Ajv2020({
    allErrors: true,
    // Keywords that ajv does not know are annotations, as the draft says; so is `format`.
    strict: false,
    validateFormats: false,
    // Schemas in the wild write `[\w\-]`, which the u flag refuses.
    unicodeRegExp: false,
    ownProperties: true,
    // Two tools may carry the same $id.
    addUsedSchema: false,
    logger: false,
  });
}

/** Without `$schema`: tools that declare an older draft are read as the current one, and `$async` would skip the check. */
function plainSchema(schema: Json): AnySchemaObject {
  if (!isJsonObject(schema)) throw new Error('a schema is a JSON object');
  const { $schema: _draft, $async: _async, ...rest } = schema;
  return rest;
}

function describe(errors: readonly ErrorObject[]): string {
  const causes = errors.map(({ instancePath, keyword, params, message }) => {
    const place = instancePath === '' ? '' : `${instancePath}: `;
    if (keyword === 'additionalProperties') return `${place}unknown property '${params.additionalProperty}'`;
    if (keyword === 'enum') return `${place}must be one of ${JSON.stringify(params.allowedValues)}`;
    return `${place}${message ?? keyword}`;
  });
  const shown = [...new Set(causes)];
  const rest = shown.length - MAX_CAUSES;
  return shown.slice(0, MAX_CAUSES).join('; ') + (rest > 0 ? `; and ${rest} more` : '');
}

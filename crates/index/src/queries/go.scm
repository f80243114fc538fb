(function_declaration name: (identifier) @function)
(method_declaration name: (field_identifier) @method)
(type_spec name: (type_identifier) @type)
(type_alias name: (type_identifier) @type)
(source_file (const_declaration (const_spec name: (identifier) @constant)))
(source_file (var_declaration (var_spec name: (identifier) @variable)))
(source_file (var_declaration (var_spec_list (var_spec name: (identifier) @variable))))

(call_expression function: (identifier) @use)
(call_expression function: (selector_expression field: (field_identifier) @use))
(type_identifier) @use

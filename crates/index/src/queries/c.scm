(function_definition declarator: (function_declarator declarator: (identifier) @function))
(function_definition declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @function)))
(function_definition declarator: (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @function))))
(struct_specifier name: (type_identifier) @struct body: (_))
(union_specifier name: (type_identifier) @struct body: (_))
(enum_specifier name: (type_identifier) @enum body: (_))
(type_definition declarator: (type_identifier) @type)
(preproc_def name: (identifier) @macro)
(preproc_function_def name: (identifier) @macro)
(translation_unit (declaration declarator: (init_declarator declarator: (identifier) @variable)))
(translation_unit (declaration declarator: (init_declarator declarator: (array_declarator declarator: (identifier) @variable))))

(call_expression function: (identifier) @use)
(type_identifier) @use

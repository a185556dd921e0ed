"""What is asked and what is replied, one topic a module.

The handlers read requests and build replies with these, and the OpenAPI document is generated from
them: a name here is a name there, so it says its topic.
"""
